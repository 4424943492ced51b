"""The caller's options for the columns of events, from public functions to the loader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeAlias, TypedDict, TypeVar, cast

from sase.base.files import is_unicode
from sase.base.texts import did_you_mean
from sase.errors import PlanError

F = TypeVar("F", bound=Callable[..., Any])


# The column of time, or those of the earliest and the latest time.
Times: TypeAlias = str | tuple[str, str]


class InputKeywords(TypedDict, total=False):
    """The keywords of public functions that make `InputOptions`, for type checkers."""

    time: Times
    type: str | None
    seq: str | None
    types: Any
    time_unit: str | None
    on_bad_row: str
    null: Any
    text: Any
    delimiter: str | None
    quote: str | None
    decimal: str | None
    encoding: str | None
    time_format: str | None
    input_format: str | None
    table_version: int | None
    longest: Any


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files of text are read; None is found from the first lines of the files.

    `null` are further texts in CSV that mean a missing value; `text` are CSV columns that stay text
    whatever their values are; callers may give one text, or a list. `time_format` is the form of
    times, such as `%d/%m/%Y %H:%M`, and `input_format` the name of a format. `table_version` is the
    version of a table of Delta Lake, or the snapshot of one of Iceberg.
    """

    null: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    delimiter: str | None = None
    quote: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    time_format: str | None = None
    input_format: str | None = None
    table_version: int | None = None

    def __post_init__(self) -> None:
        _check_texts("null", self.null, 'a text such as  "N/A" , or a list of texts')
        _check_texts("text", self.text, "the name of a column, or a list of names")
        for option in ("null", "text"):
            object.__setattr__(self, option, _texts_in(getattr(self, option)))
        if self.delimiter in ("\\t", "tab"):  # which is hard to write in a shell
            object.__setattr__(self, "delimiter", "\t")
        for option in ("delimiter", "quote"):
            value = getattr(self, option)
            is_text = isinstance(value, str) and len(value) == 1 and value.isascii()
            if value is not None and (not is_text or value in "\0\r\n"):
                raise PlanError(f"{option}={value!r}: give one character of ASCII")
        if self.decimal is not None:
            check_choice("decimal", self.decimal, (".", ","))
        for option in ("encoding", "time_format", "input_format"):
            check_name(option, getattr(self, option))
        version = self.table_version
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise PlanError(f"table_version={version!r}: give the number of a version")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def given(self) -> dict[str, Any]:
        """The options of reading that were given, by name."""
        return {
            name: value
            for name in READING_OPTIONS
            if (value := getattr(self, name)) not in (None, (), "")
        }


READING_OPTIONS = tuple(field.name for field in fields(Reading))


@dataclass(frozen=True)
class InputOptions(Reading):
    """The columns with roles, event types, the unit of integer time, and the bad-row policy.

    With imprecise time `longest` is the greatest length of an interval, in raw units or with a
    unit. To add an input option to all commands and functions, add one field here, or to `Reading`
    if it is for files of text, and one keyword above.
    """

    time: Times = "ts"
    type: str | None = "type"
    seq: str | None = None
    types: Any = None
    time_unit: str | None = None
    on_bad_row: str = "error"
    longest: Any = None

    def __post_init__(self) -> None:
        _check_times(self.time)
        for option in ("type", "seq", "time_unit"):
            check_name(option, getattr(self, option))
        types = self.types
        if types is not None and (isinstance(types, bytes) or not isinstance(types, Iterable)):
            raise PlanError(
                f"types={types!r}: give a list of names, or a dict of each name → the list of its"
                " attributes, or the condition that defines it"
            )
        check_on_bad_row(self.on_bad_row)
        super().__post_init__()

    @property
    def earliest(self) -> str:
        """The column of time, or of the earliest time."""
        return self.time if isinstance(self.time, str) else self.time[0]

    @property
    def until(self) -> str | None:
        """The column of the latest time, with imprecise time."""
        return None if isinstance(self.time, str) else self.time[1]

    @property
    def reading(self) -> Reading:
        """The options of reading files of text."""
        return Reading(**self.given)

    @property
    def without_reading(self) -> InputOptions:
        """The same options for events that are no files."""
        return replace(self, **{name: getattr(InputOptions, name) for name in READING_OPTIONS})

    @property
    def quarantines(self) -> bool:
        """Whether bad rows go into quarantine instead of raising an error."""
        return self.on_bad_row == "quarantine"

    @property
    def columns(self) -> dict[str, Any]:
        """The options that `describe` takes."""
        other = ("on_bad_row", "longest", *READING_OPTIONS)
        return {name: getattr(self, name) for name in INPUT_OPTIONS if name not in other}


_FIELDS = {each.name: each for each in fields(InputOptions)}
INPUT_OPTIONS = tuple(InputKeywords.__annotations__)
assert set(INPUT_OPTIONS) == set(_FIELDS)


def takes_input_options(function: F) -> F:
    """Show and check the keywords of a function that takes `**options: Unpack[InputKeywords]`."""
    own = signature(function)
    named = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    named += [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in map(_FIELDS.__getitem__, INPUT_OPTIONS)
    ]
    shown = own.replace(parameters=named)

    @wraps(function)
    def checked(*given: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in shown.parameters:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {name!r}"
                )
        return function(*given, **keywords)

    checked.__signature__ = shown  # type: ignore[attr-defined]
    return cast(F, checked)


def check_name(option: str, value: object, *, may_be_none: bool = True) -> None:
    """Refuse a value that is not a column name."""
    if isinstance(value, str):
        _check_unicode(option, value)
        return
    if value is None and may_be_none:
        return
    what = "a name as text, or None" if may_be_none else "a name as text"
    raise PlanError(f"{option}={value!r}: give {what}")


def _check_times(value: object) -> None:
    """Refuse anything but one time column or two."""
    names = value if isinstance(value, tuple) and len(value) == 2 else (value,)
    if not all(isinstance(name, str) for name in names):
        raise PlanError(
            f"time={value!r}: give a name as text, or where time is imprecise the names of two"
            ' columns, of the earliest and the latest, as in  time=("lo", "hi")'
        )
    _check_unicode("time", *names)


def _check_texts(option: str, value: object, what: str) -> None:
    if not isinstance(value, str | list | tuple) or not all(
        isinstance(each, str) for each in value
    ):
        raise PlanError(f"{option}={value!r}: give {what}")
    _check_unicode(option, *_texts_in(value))


def _check_unicode(option: str, *given: str) -> None:
    """Refuse texts with surrogates."""
    for text in given:
        if not is_unicode(text):
            raise PlanError(
                f"{option}={text!r}: this is no text: it has surrogates, or was no UTF-8"
            )


def _texts_in(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        message = f"encoding={name!r}: Python knows no encoding of text of this name"
        raise PlanError(message) from None


def check_on_bad_row(value: str) -> None:
    """Refuse an unknown policy for bad rows."""
    check_choice("on_bad_row", value, ("error", "quarantine"))


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value of an option that is not among the allowed ones."""
    if value not in known:
        hint = did_you_mean(str(value), known) or ("",)
        names = " or ".join(f'"{each}"' for each in known)
        raise PlanError(f"{option}={value!r}: it is {names}; {hint[0]}".removesuffix("; "))

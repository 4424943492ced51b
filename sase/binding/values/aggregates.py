"""User-defined aggregates: a state, a step for each event, and the value of the state."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sase.base.texts import did_you_mean
from sase.binding.types import BOOLEAN, FLOAT, INTEGER, NUMBERS, WILD, DataType, Kind
from sase.binding.values.functions import AGGREGATES, FUNCTIONS
from sase.errors import PlanError
from sase.lang.printer import spelled

StatePart: TypeAlias = bool | int | float
TrendName: TypeAlias = Literal["rising", "falling"]

# The types of states, attributes and results by the name of the kind.
KINDS = {"integer": INTEGER, "float": FLOAT, "boolean": BOOLEAN}
# The kinds of attribute that a kind accepts: a float accepts any number.
_ACCEPTED = {
    Kind.INTEGER: frozenset((Kind.INTEGER,)), Kind.FLOAT: NUMBERS,
    Kind.BOOLEAN: frozenset((Kind.BOOLEAN,)),
}  # fmt: skip
# Functions that end or suspend a call without the value that a caller needs.
_NO_PLAIN_FUNCTION = (
    inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction,
)  # fmt: skip
TRENDS = ("rising", "falling")
MOST_PARTS = 4
_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class UserAggregate:
    """A named aggregate: its initial state, and the functions for the next state and the value.

    `start` are the parts of the state; if it `is_single` the functions take the one part, not a
    tuple.
    """

    name: str
    start: tuple[StatePart, ...]
    is_single: bool
    step: Callable[..., Any]
    value: Callable[..., Any] | None
    over: tuple[DataType, ...]
    type: DataType
    trend: TrendName | None = None
    identity: str = field(default_factory=lambda: os.urandom(16).hex())

    def accepts(self, place: int, data_type: DataType) -> bool:
        """Whether an attribute may have a type, or its type is unknown."""
        return data_type.kind in WILD or data_type.kind in _ACCEPTED[self.over[place].kind]

    @property
    def shape(self) -> list[object]:
        """The parts, besides functions, in which it differs from others of its name."""
        kinds = [each.kind.value for each in (*self.over, self.type)]
        return [self.name, self.is_single, list(map(repr, self.start)), kinds]

    @property
    def form(self) -> str:
        """An example of a call."""
        return f"{self.name}(a[].{'p' if len(self.over) == 1 else self._listed})"

    @property
    def _listed(self) -> str:
        return f"({', '.join(f'p{place}' for place in range(1, len(self.over) + 1))})"

    def of(self, events: Iterable[Sequence[Any]]) -> StatePart | None:
        """Evaluate the aggregate in Python over events' attributes, like compiled code."""
        state: Any = self.start[0] if self.is_single else self.start
        known = [values for values in events if None not in values]
        try:
            for values in known:
                state = self._state(self.step(state, *map(as_kind, values, self.over)))
            if not known:
                return None
            value = as_kind(state if self.value is None else self.value(state), self.type)
        except Exception:  # any exception of a user's function is NULL
            return None
        return None if value != value else value

    def _state(self, bindings: Any) -> Any:
        kinds = [KINDS[kind_of(part)] for part in self.start]
        return (
            as_kind(bindings, kinds[0]) if self.is_single else tuple(map(as_kind, bindings, kinds))
        )


def as_kind(value: Any, data_type: DataType) -> StatePart:
    """Convert a value to the kind's 64 bits."""
    match data_type.kind:
        case Kind.BOOLEAN:
            return bool(value)
        case Kind.INTEGER:
            return (int(value) + _WORD // 2) % _WORD - _WORD // 2
    return float(value)


def kind_of(value: object) -> str:
    """The kind of a part of a state by name; empty if it has no valid kind."""
    match value:
        case bool():
            return "boolean"
        case int() if as_kind(value, INTEGER) == value:
            return "integer"
        case float():
            return "float"
    return ""


# ---------------------------------------------------------------- by name

_DEFINED: dict[str, UserAggregate] = {}


def aggregate(
    name: str,
    start: StatePart | tuple[StatePart, ...],
    step: Callable[..., Any],
    result: Callable[..., Any] | None = None,
    over: int = 1,
    kinds: Sequence[str] | None = None,
    trend: TrendName | None = None,
) -> None:
    """Add an aggregate by name, which queries call as they call `avg`.

    `start` is the state before the first event: an integer, a float or a boolean, or a tuple of up
    to four. `step(state, value, …)` returns the state after an event with these values of `over`
    attributes; `result(state)` returns the value; without it the state is the value. `kinds` are
    the kinds of the attributes and of the value ("integer", "float", "boolean"); by default all
    have the kind of the state. Numba compiles both functions when a plan is opened, so they can use
    the Python that Numba supports: arithmetic, comparisons, `math`. A call that raises gives NULL,
    with a warning.

    `trend` promises that adding events, anywhere, never lowers the value ("rising") or never raises
    it ("falling"), and that nothing raises. An aggregate of the same name is replaced, for plans
    opened later. An invalid definition raises `PlanError`.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "p": 4.0}, {"ts": 2, "type": "A", "p": 1.0}]
        >>> sase.aggregate("faded", 0.0, lambda state, value: 0.5 * state + value)
        >>> matches = sase.match("EVENT A{2} a[] RETURN faded(a[].p) AS value", events)
        >>> matches.to_arrow()["value"].to_pylist()
        [3.0]
    """
    given = _checked_name(name)
    parts = start if isinstance(start, tuple) else (start,)
    _check_start(given, parts, start)
    is_single = not isinstance(start, tuple)
    if isinstance(over, bool) or not isinstance(over, int) or over < 1:
        raise _wrong(given, f"over={over!r}: it is over at least one attribute, such as  over=2")
    _check_function(given, "step", step, 1 + over)
    if result is not None:
        _check_function(given, "result", result, 1)
    if trend is not None and trend not in TRENDS:
        hint = (*did_you_mean(str(trend), TRENDS), 'it is "rising", "falling" or None')[0]
        raise _wrong(given, f"trend={trend!r}: {hint}")
    *attributes, value = _types(given, kinds, over, parts, is_single=is_single)
    if result is None and (not is_single or value != KINDS[kind_of(start)]):
        raise _wrong(
            given, "its state is not its value: give  result=…  that makes it of the state"
        )
    made = UserAggregate(given, parts, is_single, step, result, tuple(attributes), value, trend)
    _DEFINED[given] = made


def find(name: str) -> UserAggregate | None:
    """The aggregate added under a name, or None."""
    return _DEFINED.get(name)


def every_aggregate() -> tuple[UserAggregate, ...]:
    """All added aggregates, to send them to another process."""
    return tuple(_DEFINED.values())


def add_again(aggregates: Iterable[UserAggregate]) -> None:
    """Add the aggregates of another process."""
    _DEFINED.update((each.name, each) for each in aggregates)


def names() -> list[str]:
    """The names of all added aggregates."""
    return [*_DEFINED]


def _wrong(name: str, why: str) -> PlanError:
    return PlanError(f"aggregate `{name}`: {why}")


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or spelled(name) != name:
        raise PlanError(f"{name!r} cannot name an aggregate: give a word, such as  'orbit'")
    # Names of functions are case-insensitive in queries.
    if (lower := name.lower()) in {*FUNCTIONS, *AGGREGATES}:
        raise PlanError(f"`{lower}` is a function of the language: give the aggregate another name")
    return lower


def _check_start(name: str, parts: tuple[object, ...], start: object) -> None:
    if not 1 <= len(parts) <= MOST_PARTS:
        raise _wrong(name, f"start={start!r}: a state has one to {MOST_PARTS} parts")
    for part in parts:
        if not kind_of(part):
            raise _wrong(
                name,
                f"start={start!r}: a state is an integer of 64 bits, a float or a boolean, or a"
                f" tuple of up to {MOST_PARTS} of them",
            )


def _check_function(name: str, role: str, function: object, takes: int) -> None:
    if not callable(function):
        raise _wrong(name, f"{role}={function!r}: this is no function")
    if any(is_other(function) for is_other in _NO_PLAIN_FUNCTION):
        raise _wrong(name, f"its {role} waits or yields: give a plain function, which returns")
    try:
        inspect.signature(function).bind(*range(takes))
    except ValueError:  # a built-in without a signature
        return
    except TypeError:
        form = {"step": "step(state, value, …)", "result": "result(state)"}[role]
        noun = "argument" if takes == 1 else "arguments"
        raise _wrong(name, f"its {role} is called with {takes} {noun}, as  {form}") from None


def _types(
    name: str, kinds: Any, over: int, parts: tuple[StatePart, ...], *, is_single: bool
) -> list[DataType]:
    if kinds is None:
        if not is_single:
            raise _wrong(name, "its state has several parts: say  kinds=  of attributes and result")
        kinds = [kind_of(parts[0])] * (over + 1)
    if isinstance(kinds, str) or not isinstance(kinds, Sequence) or len(kinds) != over + 1:
        form = ", ".join(['"integer"'] * (over + 1))
        raise _wrong(
            name,
            f"kinds={kinds!r}: give one for each of {over} attributes, and then that of the value:"
            f" ({form})",
        )
    for kind in kinds:
        if kind not in KINDS:
            hint = (*did_you_mean(str(kind), KINDS), f"the kinds are {', '.join(KINDS)}")[0]
            raise _wrong(name, f"there is no kind {kind!r}: {hint}")
    return [KINDS[kind] for kind in kinds]

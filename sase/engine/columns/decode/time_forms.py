"""Times in other forms than ISO 8601, such as `13/02/2024 09:00`: rewritten in that form.

A form is written as for `strptime`. The usual ones are found from the first values of a column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.base.interface import option
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.columns.decode.timestamps import moments_among
from sase.errors import SchemaError

Texts = TypeVar("Texts", pa.Array, pa.ChunkedArray)

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# The pattern of each directive, with the name of its value.
_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})", "y": r"(?P<y>\d{2})", "m": r"(?P<m>\d{1,2})", "d": r"(?P<d>\d{1,2})",
    "e": r"(?P<d>\d{1,2})", "b": r"(?P<b>[A-Za-z]{3})", "B": r"(?P<b>[A-Za-z]{3,9})",
    "H": r"(?P<H>\d{1,2})", "I": r"(?P<I>\d{1,2})", "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
    "M": r"(?P<M>\d{2})", "S": r"(?P<S>\d{2})", "f": r"(?P<f>\d{1,6})", "a": "[A-Za-z]{3}",
    "A": "[A-Za-z]{6,9}", "z": r"(?P<z>Z|UTC|GMT|[+-]\d{2}:?\d{2})", "Z": "(?P<z>Z|UTC|GMT)",
    "%": "%",
}  # fmt: skip
_SHORT = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%R": "%H:%M", "%D": "%m/%d/%y"}
# Forms that are tried, in this order: dates with times and zones, then whole forms.
_DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y"),
    *("%d-%b-%Y", "%b %d, %Y", "%Y-%m-%d"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %H:%M:%S,%f", " %I:%M %p", " %I:%M:%S %p")
_WHOLE = (
    *("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%d/%b/%Y:%H:%M:%S %z"),
    *("%a, %d %b %Y %H:%M:%S %z", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%S%z"),
)
USUAL = tuple(map("".join, product(_DATES, _TIMES, ("", " %z")))) + _WHOLE
# A value that is longer has none of these forms.
LONGEST = 40
# The first values, by which forms are chosen to be tried.
FIRST = 5


class TimeForm:
    """A form of times."""

    def __init__(self, form: str) -> None:
        self.form = form
        for short, long in _SHORT.items():
            form = form.replace(short, long)
        parts = list[str]()
        for directive, between in re.findall(r"%(.)|([^%]+|%$)", form, re.DOTALL):
            if directive and directive not in _DIRECTIVES:
                known = ", ".join(f"%{each}" for each in (*_DIRECTIVES, *"TFRD"))
                raise SchemaError(f"time_format={self.form!r}: %{directive} is none of {known}")
            parts.append(_DIRECTIVES[directive] if directive else _literal(between))
        self.pattern = rf"^\s*{''.join(parts)}\s*$"
        try:
            names = re.compile(self.pattern).groupindex
        except re.error as problem:
            raise SchemaError(
                f"time_format={self.form!r}: a part is there twice: {problem}"
            ) from problem
        lacks = [of for of in ("Yy", "mb", "d") if not {*of} & {*names}]
        if lacks:
            raise SchemaError(
                f"time_format={self.form!r}: it has no %{' or %'.join(lacks[0])}, and a time has a"
                " year, a month and a day"
            )
        self.is_zoned = "z" in names
        # Whether the day comes before a month in digits, after it, or beside a name.
        self.order = names["d"] < names["m"] if "m" in names else None

    def may_be(self, text: str) -> bool:
        """Whether a text has the signs of the form."""
        return re.match(self.pattern, text) is not None

    def moments(self, texts: pa.Array) -> pa.Array:
        """The moments of texts in microseconds; NULL for a text of another form."""
        found = pc.extract_regex(texts, self.pattern)
        parts = dict(zip([field.name for field in found.type], found.flatten(), strict=True))

        def number(name: str) -> Numbers:
            if name not in parts:
                return np.zeros(len(texts), np.int64)
            return _numbers(pc.fill_null(parts[name], "0"))

        year = number("Y") if "Y" in parts else _century(number("y"))
        month = number("m") if "m" in parts else _month(parts["b"])
        hour = _half(number("I"), parts.get("p")) if "I" in parts else number("H")
        day, minute, second = number("d"), number("M"), number("S")
        months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
        days = months.astype("datetime64[D]") + (day - 1)
        is_good = (month >= 1) & (month <= 12) & (days.astype("datetime64[M]") == months)
        is_good &= (day > 0) & (hour < 24) & (minute < 60) & (second < 60)
        seconds = days.astype(np.int64) * 86400 + hour * 3600 + minute * 60 + second
        if "z" in parts:
            seconds = seconds - _offset(parts["z"])
        micros = seconds * 10**6 + (_fraction(parts["f"]) if "f" in parts else 0)
        is_good &= found.is_valid().to_numpy(zero_copy_only=False)
        kind = pa.timestamp("us", "UTC") if self.is_zoned else pa.timestamp("us")
        return pa.array(micros, pa.int64(), mask=~is_good).cast(kind)

    def in_iso(self, texts: Texts) -> Texts:
        """Texts of the form in that of ISO 8601, and other ones unchanged."""
        if isinstance(texts, pa.ChunkedArray):
            return pa.chunked_array([self.in_iso(each) for each in texts.chunks], pa.string())
        moments = self.moments(texts)
        return pc.coalesce(pc.strftime(moments, _ISO[self.is_zoned]), texts)

    def iso_of(self, values: Iterable[object]) -> dict[object, str]:
        """The text in the form of ISO 8601 of each distinct text among values."""
        texts = list({each for each in values if isinstance(each, str) and is_unicode(each)})
        return dict(zip(texts, self.in_iso(pa.array(texts, pa.string())).to_pylist(), strict=True))


class Digits(TimeForm):
    """Times since 1970 as text, with the unit that their number of digits shows."""

    def __init__(self, unit: str, digits: int) -> None:
        self.form, self.pattern = f"{digits} digits", rf"^\s*\d{{{digits}}}\s*$"
        self._unit, self.is_zoned, self.order = unit, True, None

    def moments(self, texts: pa.Array) -> pa.Array:
        """The moments of texts in microseconds; NULL for a text of another form."""
        is_one = pc.match_substring_regex(texts, self.pattern)
        numbers = pc.cast(pc.utf8_trim_whitespace(pc.if_else(is_one, texts, None)), pa.int64())
        return numbers.cast(pa.timestamp(self._unit, "UTC")).cast(pa.timestamp("us", "UTC"))


DIGITS = (Digits("s", 10), Digits("ms", 13), Digits("us", 16))
_ISO = {False: "%Y-%m-%dT%H:%M:%S", True: "%Y-%m-%dT%H:%M:%SZ"}


def _literal(text: str) -> str:
    """The pattern of signs between directives; a blank is one or several."""
    return "".join(r"\s+" if sign.isspace() else re.escape(sign) for sign in text)


def _numbers(digits: pa.Array) -> Numbers:
    values: Numbers = pc.cast(digits, pa.int64()).to_numpy(zero_copy_only=False)
    return values


def _century(years: Numbers) -> Numbers:
    """Years of two digits: 69 is the first of 1900 on."""
    return years + np.where(years < 69, 2000, 1900)


def _month(names: pa.Array) -> Numbers:
    first = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    return _numbers(pc.fill_null(pc.index_in(first, pa.array(MONTHS)), -1)) + 1


def _half(hours: Numbers, halves: pa.Array | None) -> Numbers:
    """Hours of half a day as hours of a day; 24 for such as 13 PM."""
    is_late = np.zeros(len(hours), np.bool_)
    if halves is not None:
        late = pc.fill_null(pc.equal(pc.utf8_lower(halves), "p"), False)
        is_late = late.to_numpy(zero_copy_only=False)
    good = (hours >= 1) & (hours <= 12)
    return np.where(good, hours % 12 + 12 * is_late, 24)


def _offset(zones: pa.Array) -> Numbers:
    """Seconds by which zones are ahead of UTC."""
    texts = pc.dictionary_encode(pc.fill_null(zones, ""))
    known = [_seconds(each) for each in texts.dictionary.to_pylist()]
    ahead: Numbers = np.array(known, np.int64)[np.asarray(texts.indices)]
    return ahead


def _seconds(zone: str) -> int:
    digits = zone.replace(":", "")
    if digits[:1] not in ("+", "-"):
        return 0
    return int(digits[0] + "1") * (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60)


def _fraction(digits: pa.Array) -> Numbers:
    """Microseconds of the digits behind the seconds."""
    return _numbers(pc.utf8_rpad(pc.fill_null(digits, ""), 6, "0"))


# ---------------------------------------------------------------- forms of columns


@cache
def time_form(form: str) -> TimeForm:
    """The form of a text, as for `strptime`."""
    return TimeForm(form)


def moments_and_forms(
    sample: pa.Table, given: str | None, times: Collection[str]
) -> tuple[dict[str, pa.DataType], dict[str, TimeForm]]:
    """The types of the text columns that hold moments, and the forms that are not ISO 8601.

    A given form comes before ISO 8601 in the columns of `times`.
    """
    own = sample.select([name for name in sample.column_names if name in times])
    first = [time_form(given)] if given else []
    forms = _forms_among(own, first, times)
    left = sample.drop_columns([*forms])
    found = moments_among(left, times)
    left = left.drop_columns([*found])
    forms |= _forms_among(left, [*first, *map(time_form, USUAL), *DIGITS], times)
    return found | moments_among(in_iso(sample.select([*forms]), forms), times), forms


def refuse_unused(given: str | None, forms: Mapping[str, TimeForm], times: Sequence[str]) -> None:
    """Refuse a given form that no column of times has."""
    if given is not None and not any(form.form == given for form in forms.values()):
        columns = " or ".join(f"`{name}`" for name in times) or "a column of times"
        raise SchemaError(
            f"time_format={given!r}: {columns} has no texts of this form: leave it out, or give the"
            " form of the values"
        )


def _forms_among(
    sample: pa.Table, tried: Sequence[TimeForm], times: Collection[str]
) -> dict[str, TimeForm]:
    """The forms of the text columns that have times of one form.

    In a column of `times` half of the values are enough: the others are bad rows. If there a day
    and a month may be either, this is an error. Only there digits are times.
    """
    found = {}
    for name, column in zip(sample.column_names, sample.columns, strict=True):
        values = pc.unique(column.cast(pa.string())).drop_null()
        least = (len(values) + 1) // 2 if name in times else len(values)
        forms = [form for form in tried if name in times or form not in DIGITS]
        fitting = _fitting(values, forms, max(least, 1))
        other = next((each for each in fitting if each.order != fitting[0].order), None)
        if other is not None and name in times:
            raise _either(name, values[0].as_py(), fitting[0], other)
        if fitting and other is None:
            found[name] = fitting[0]
    return found


def _either(name: str, value: str, one: TimeForm, other: TimeForm) -> SchemaError:
    return SchemaError(
        f"`{name}` holds {value!r}, of which the day may be the first number or the second: say"
        f"  {option('time_format', one.form)}  or  {option('time_format', other.form)}"
    )


def _fitting(values: pa.Array, forms: Collection[TimeForm], least: int) -> list[TimeForm]:
    """The forms of most of the values, if they are at least `least`."""
    first = [value for value in values[:FIRST].to_pylist() if len(value) <= LONGEST]
    counts = {}
    for form in forms:
        if any(map(form.may_be, first)):
            count = len(values) - form.moments(values).null_count
            if count >= least:
                counts[form] = count
    most = max(counts.values(), default=0)
    return [form for form, count in counts.items() if count == most]


def in_iso(table: pa.Table, forms: Mapping[str, TimeForm]) -> pa.Table:
    """A table in which columns of these forms are texts of ISO 8601."""
    for name, form in forms.items():
        index = table.schema.get_field_index(name)
        if index >= 0:
            texts = form.in_iso(table.column(index).cast(pa.string()))
            table = table.set_column(index, pa.field(name, pa.string()), texts)
    return table

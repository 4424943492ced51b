"""Random conditions over random events of two types that declare different attributes."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal

from hypothesis import strategies as st

from sase.binding.schema import EventType, Schema
from sase.binding.types import BOOLEAN, FLOAT, INTEGER, STRING, DataType, Kind

DECIMAL = DataType(Kind.DECIMAL, scale=3)
MOMENT, DAY = DataType(Kind.TIMESTAMP, "us"), DataType(Kind.TIMESTAMP, "d")
INTERVAL = DataType(Kind.INTERVAL, "us")

EPOCH, MICROSECOND = datetime.fromisoformat("1970-01-01"), timedelta(microseconds=1)

# `i` is an integer in A and a float in B, `m` a decimal and an integer; B has no n, c, d, v.
ATTRIBUTES = {
    "A": {
        "i": INTEGER, "f": FLOAT, "m": DECIMAL, "n": INTEGER, "b": BOOLEAN, "c": BOOLEAN,
        "s": STRING, "u": STRING, "t": MOMENT, "d": DAY, "v": INTERVAL,
    },
    "B": {
        "i": FLOAT, "f": FLOAT, "m": INTEGER, "b": BOOLEAN, "s": STRING, "u": STRING, "t": MOMENT,
    },
}  # fmt: skip
SCHEMA = Schema(
    tuple(EventType(name, tuple(declared.items())) for name, declared in ATTRIBUTES.items()),
    time_unit="s",
)

WHOLES = [
    -(2**63),
    -(2**63) + 1,
    2**63 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    3037000500,
    0,
    1,
    -1,
    7,
]
REALS = [0.0, -0.0, 0.1, 0.5, -2.5, 7.0, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e300, 5e-324]
UNITS = [0, 1, -1, 500, 100, 7000, 2**53, 10**18 - 1, -(10**18) + 1, 123456789012345678]
MOMENTS = ["0001-01-01", "1970-01-01", "1970-01-01T00:00:01", "9999-12-31T23:59:59"]
TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "b%",
    "_",
    "\\",
    "İ",
    "ß",
    "ﬀ",
    "ǆ",
    "\uffff",
    "\U00010000",
    "𐐨",
    "x\ny",
]

wholes = st.one_of(st.sampled_from(WHOLES), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))
reals = st.one_of(st.sampled_from([*REALS, math.inf, -math.inf, math.nan]), st.floats())
units = st.one_of(st.sampled_from(UNITS), st.integers(-(10**18) + 1, 10**18 - 1))
decimals = units.map(lambda each: Decimal(each).scaleb(-3))
texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=3))
moments = st.one_of(
    st.sampled_from(["0001-01-01", "1970-01-01", "9999-12-31T23:59:59"]).map(
        datetime.fromisoformat
    ),
    st.integers(-2_000_000, 2_000_000).map(lambda each: EPOCH + each * MICROSECOND),
)
days = st.one_of(st.dates(), st.sampled_from([date(1970, 1, 1), date(1970, 1, 2)]))
intervals = st.one_of(
    st.sampled_from([timedelta(0), timedelta(1), timedelta(seconds=-1)]),
    st.timedeltas(timedelta(-3), timedelta(3)),
)
OF_KIND = {
    INTEGER: wholes, FLOAT: reals, DECIMAL: decimals, BOOLEAN: st.booleans(), STRING: texts,
    MOMENT: moments, DAY: days, INTERVAL: intervals,
}  # fmt: skip


def events_of(name: str) -> st.SearchStrategy[dict[str, object]]:
    """An event of a type: any attribute may be NULL."""
    values = {a: st.one_of(OF_KIND[kind], st.none()) for a, kind in ATTRIBUTES[name].items()}
    return st.fixed_dictionaries({"type": st.just(name), **values})


events = st.sampled_from(["A", "A", "B"]).flatmap(events_of)


def streams(of: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[list[dict[str, object]]]:
    """Some events in the order of their timestamps."""
    return st.lists(of, min_size=1, max_size=5).map(
        lambda rows: [{"ts": place, **row} for place, row in enumerate(rows)]
    )


# ---------------------------------------------------------------- literals, as they are written


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


whole_literals = wholes.map(str)
# A tenth is no float: beside one it is another number than beside a decimal, and a choice of it and
# of floats is one.
TENTHS = ["0.1", "0.10", "-0.3", "19.99", "0.100000000000000001", "9007199254740993.0"]
real_literals = st.one_of(
    st.sampled_from([each for each in REALS if each != 0.1]), st.floats(-1e9, 1e9)
).map(repr)
text_literals = texts.filter(lambda text: "\0" not in text).map(quoted)
moment_literals = moments.map(lambda each: f"TIMESTAMP '{each.isoformat(' ')}'")
day_literals = days.map(lambda each: f"DATE '{each.isoformat()}'")
interval_literals = st.sampled_from(
    ["0 seconds", "1 second", "86400 seconds", "1 day", "1.5 ms", "3 us", "300000 weeks"]
)
patterns = st.text("aAb%_\\ßx", max_size=4).filter(
    lambda text: (len(text) - len(text.rstrip("\\"))) % 2 == 0
)


some_text = text_literals.filter(lambda text: text != "''")
characters = st.sampled_from(
    ["a", "b", ".", "[a-c]", "[^a]", r"\d", r"\w", "ß", "𐐨", r"\.", "(ab)"]
)
regular_expressions = st.lists(
    st.tuples(characters, st.sampled_from(["", "", "*", "+", "?", "{2}"])).map("".join), max_size=3
).flatmap(
    lambda parts: st.sampled_from(["{}", "^{}", "{}$", "^{}$", "a|{}"]).map(
        lambda form: form.format("".join(parts))
    )
)


# ---------------------------------------------------------------- expressions


def any_of(*texts: object) -> st.SearchStrategy[str]:
    return st.one_of(*(t if isinstance(t, st.SearchStrategy) else st.just(t) for t in texts))


def formed(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A text with parts in it."""
    return st.tuples(*parts).map(lambda found: form.format(*found))


def references(variables: str, attributes: str) -> st.SearchStrategy[str]:
    pairs = [f"{variable}.{attribute}" for variable in variables for attribute in attributes]
    return st.sampled_from(pairs)


def numbers(variables: str) -> st.SearchStrategy[str]:
    read = references(variables, "ifmn")
    read = any_of(read, formed("({} * {})", read, real_literals), formed("-({})", read))
    leaves = any_of(
        references(variables, "ifmn"), references(variables, "ifmn"), whole_literals, real_literals
    )
    return st.recursive(
        leaves,
        lambda inner: any_of(
            formed("({} + {})", inner, inner),
            formed("({} - {})", inner, inner),
            formed("({} * {})", inner, inner),
            formed("({} / {})", inner, inner),
            formed("({} % {})", inner, inner),
            formed("-({})", inner),
            formed("abs({})", inner),
            formed("coalesce({}, {})", inner, inner),
            formed("least({}, {}, {})", inner, inner, inner),
            formed("greatest({}, {})", inner, inner),
            formed("length({})", strings(variables)),
            # Of a choice with a number with a point the naive matcher does not know the type.
            formed("round({}, {})", read, st.sampled_from(["0", "1", "2", "15", "NULL"])),
            formed("{}({})", st.sampled_from(["round", "floor", "ceil", "sign"]), read),
            formed("{}({})", st.sampled_from(["sqrt", "ln", "exp"]), inner),
            formed("power({}, {})", inner, inner),
            formed("{}({})", parts_of_time, moved_times(variables)),
        ),
        max_leaves=4,
    )


def strings(variables: str) -> st.SearchStrategy[str]:
    leaves = any_of(references(variables, "su"), references(variables, "su"), text_literals)
    return st.recursive(
        leaves,
        lambda inner: any_of(
            formed("lower({})", inner),
            formed("upper({})", inner),
            formed("coalesce({}, {})", inner, inner),
            formed("least({}, {})", inner, inner),
            formed("greatest({}, {})", inner, inner),
            formed("trim({})", inner),
            formed("concat({}, {}, {})", any_of(text_literals, "NULL"), inner, text_literals),
            formed("substring({}, {})", inner, st.sampled_from(["1", "2", "1, 0", "2, 1", "9, 9"])),
            formed("replace({}, {}, {})", inner, some_text, text_literals),
            formed("split_part({}, {}, {})", inner, some_text, st.sampled_from("12")),
            formed("regexp_extract({}, '{}')", inner, regular_expressions),
            formed("regexp_extract({}, '{}', NULL)", inner, regular_expressions),
            formed(
                "regexp_extract({}, '(a|({}))x?', {})", inner, characters, st.sampled_from("012")
            ),
        ),
        max_leaves=3,
    )


parts_of_time = st.sampled_from(
    ["year", "quarter", "month", "week", "day", "weekday", "hour", "minute", "second"]
)
truncated = parts_of_time.filter(lambda each: each != "weekday")


def moved_times(variables: str) -> st.SearchStrategy[str]:
    read = any_of(references(variables, "td"), moment_literals, day_literals)
    return any_of(read, formed("({} + {})", references(variables, "td"), interval_literals))


def times(variables: str) -> st.SearchStrategy[str]:
    leaves = any_of(references(variables, "td"), moment_literals, day_literals)
    moved = formed("({} + {})", references(variables, "td"), spans(variables, deep=False))
    back = formed("({} - {})", references(variables, "td"), interval_literals)
    cut = formed("date_trunc('{}', {})", truncated, moved_times(variables))
    return any_of(leaves, moved, back, cut, formed("least({}, {})", leaves, leaves))


def spans(variables: str, deep: bool = True) -> st.SearchStrategy[str]:
    leaves = any_of(references(variables, "v"), interval_literals)
    if not deep:
        return leaves
    between = formed("({} - {})", references(variables, "td"), references(variables, "td"))
    return any_of(
        leaves, between, formed("-({})", between), formed("greatest({}, {})", leaves, leaves)
    )


# ---------------------------------------------------------------- conditions

signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
nots = st.sampled_from(["", "NOT "])
tests_of_text = st.sampled_from(["starts_with", "ends_with", "contains"])


def atoms(variables: str) -> st.SearchStrategy[str]:
    """Atomic conditions on attributes of these variables."""
    kinds = [
        (numbers(variables), any_of(whole_literals, real_literals, st.sampled_from(TENTHS))),
        (strings(variables), text_literals),
        (times(variables), any_of(moment_literals, day_literals)),
        (spans(variables), interval_literals),
    ]
    made = [
        formed("{} LIKE '{}'", strings(variables), patterns),
        any_of(
            formed("{} NOT LIKE '{}'", strings(variables), patterns),
            formed("{} NOT ILIKE '{}'", strings(variables), patterns),
            formed("{} ILIKE '{}%'", strings(variables), patterns),
        ),
        references(variables, "bc"),
        any_of(
            formed("{}({}, '')", tests_of_text, strings(variables)),
            formed("{}{}({}, {})", nots, tests_of_text, strings(variables), text_literals),
            formed("{}regexp_matches({}, '{}')", nots, strings(variables), regular_expressions),
            formed(
                "NOT {}({}, 'a') = {}",
                tests_of_text,
                strings(variables),
                references(variables, "b"),
            ),
        ),
        formed(
            "coalesce({}, TRUE) {} {}",
            references(variables, "bc"),
            signs,
            references(variables, "b"),
        ),
    ]
    for values, literals in kinds:
        made += [
            formed("{} {} {}", values, signs, values),
            formed("{} {} {}", values, signs, literals),
            formed("{} {}BETWEEN {} AND {}", values, nots, values, values),
            formed("{} {}IN ({}, {}, NULL, {})", values, nots, literals, literals, literals),
            formed("{} IS {}NULL", values, nots),
        ]
    return st.one_of(made)


def conditions(variables: str) -> st.SearchStrategy[str]:
    return st.recursive(
        atoms(variables),
        lambda inner: any_of(
            formed("NOT ({})", inner),
            formed("({}) AND ({})", inner, inner),
            formed("({}) OR ({})", inner, inner),
        ),
        max_leaves=3,
    )


# ---------------------------------------------------------------- for the fast path

# Events of A with every special value, so that a constant meets its neighbours.
_SPECIAL: dict[str, list[object]] = {
    "n": [*WHOLES, 2, 3, -2, -3, None],
    "f": [*REALS, 2.0**53 - 1, -2.0, 1.0, math.inf, -math.inf, math.nan, None],
    "c": [True, False, None],
    "u": [*TEXTS, None],
    "d": [*map(date.fromisoformat, ["1969-12-31", "1970-01-01", "1970-01-02", "9999-12-31"]), None],
    "v": [timedelta(0), timedelta(1), timedelta(microseconds=3), timedelta(seconds=1), None],
}
GRID: list[dict[str, object]] = [
    {"ts": row - 1000, "type": "A", **{a: each[row % len(each)] for a, each in _SPECIAL.items()}}
    for row in range(max(map(len, _SPECIAL.values())))
]

whole_constants = st.one_of(st.sampled_from(WHOLES).map(str), whole_literals)
real_constants = st.one_of(st.sampled_from(REALS).map(repr), real_literals)
any_constants = st.one_of(whole_constants, real_constants)
divisors = st.one_of(st.sampled_from([1, 2, 3, 500, 2**62, 2**63 - 1]), st.integers(1, 9)).map(str)
plain = st.one_of(
    formed("x.{} {} {}", st.sampled_from("nf"), signs, any_constants),
    formed("x.{} {} {}", st.sampled_from("nf"), signs, any_constants),
    formed("{} {} x.{}", any_constants, signs, st.sampled_from("nf")),
    formed("x.n % {} {} {}", divisors, signs, any_constants),
    formed("x.{} {}IN ({}, {}, NULL)", st.sampled_from("nf"), nots, any_constants, any_constants),
    st.lists(any_constants, min_size=17, max_size=18).map(
        lambda each: f"x.n IN ({', '.join(each)})"
    ),
    st.lists(any_constants, min_size=17, max_size=18).map(
        lambda each: f"x.f IN ({', '.join(each)})"
    ),
    formed("x.{} {}BETWEEN {} AND {}", st.sampled_from("nf"), nots, any_constants, any_constants),
    formed("x.c {} {}", signs, st.sampled_from(["TRUE", "FALSE"])),
    formed("x.u {} {}", signs, text_literals),
    formed("x.u {}IN ({}, {})", nots, text_literals, text_literals),
    formed("x.u {}BETWEEN {} AND {}", nots, text_literals, text_literals),
    formed("x.u {}LIKE '{}'", nots, patterns),
    formed("x.d {} {}", signs, any_of(day_literals, moment_literals)),
    formed("x.v {} {}", signs, interval_literals),
    formed("x.{} IS {}NULL", st.sampled_from("nfcudv"), nots),
)
fast_conditions = st.recursive(
    plain,
    lambda inner: any_of(
        formed("({}) AND ({})", inner, inner),
        formed("({}) OR ({})", inner, inner),
        formed("NOT ({})", inner),
    ),
    max_leaves=2,
)

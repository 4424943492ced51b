"""How many parts the comparison of each form of queries has, each of as many examples."""

from __future__ import annotations

from tests.drawing.ways import LATE, OF_RUNS

FILE = "tests/drawing/test_engine_is_naive.py"
PARTS = {
    "sequences": 5, "series": 10, "choices": 5, "shared choices": 5, "sets": 3, "single sets": 1,
    "joined sets": 1, "negative groups": 2, "groups": 8, "groups in branches": 3,
    "groups beside absences": 4, "groups with absences": 2, "groups beside sets": 2,
    "groups that look back": 3, "groups apart": 2, "optional variables": 4, "imprecise": 4,
    "long imprecise": 2, "precise intervals": 2, "scripts": 4,
}  # fmt: skip
# By ways that are seldom drawn, or never.
ALSO = {
    "sequences, late": ("sequences", (LATE,), 2),
    "sequences, by runs": ("sequences", OF_RUNS, 1),
    **{
        f"{form}, late": (form, (LATE,), 1)
        for form in ("series", "choices", "sets", "negative groups", "groups", "groups apart")
    },
}
# The form, the names of the ways, and the number of parts, by a name.
EACH: dict[str, tuple[str, tuple[str, ...], int]] = {
    **{form: (form, (), parts) for form, parts in PARTS.items()},
    **ALSO,
}


def ids(*names: str) -> tuple[str, ...]:
    """The names of these parts in pytest."""
    test = f"{FILE}::test_the_engine_is_the_naive_matcher"
    return tuple(f"{test}[{name}-{part}]" for name in names for part in range(EACH[name][2]))

"""A list of many literals after IN is read at once, and as it would be literal by literal."""

from __future__ import annotations

from random import Random

import pytest

from sase.errors import QuerySyntaxError
from sase.lang import ast
from sase.lang.parser import parse_condition
from sase.lang.tables import parser

KINDS = (
    ["7", "0", "007", "2.50", "123456789012345678901234567890"],
    ["'x'", "''", "'it''s'", "'a,b)'", "'\n'", "'1'"],
    ["7", "'x'", "1.5"],
    ["-7", "- 7", "−0", "-2.50", "1e5", "-1E-5", ".5", "- .5e+3", "7"],
    ['"x"', '""', '"it""s"', '"-5, 7)"', "‘’", "‘a,'b’", "“a,)”", "'x'"],
)
# The entry that makes it no plain list, so that it is read literal by literal.
OTHERS = ("TRUE", "NULL", "5 minutes", "- 5 minutes", "80%", ":p", "/* */ 1", "-- 7\n1", "- /**/ 1")


def values(text: str) -> tuple[tuple[ast.Expression, ...], list[str]]:
    """The values of a condition, and the text of each by its place."""
    condition = parse_condition(text)
    assert isinstance(condition, ast.Membership)
    return condition.values, [text[slice(*each.span)] for each in condition.values]


@pytest.mark.parametrize("seed", range(30))
def test_long_lists_are_those_read_literal_by_literal(seed: int) -> None:
    random = Random(seed)
    some = random.choices(random.choice(KINDS), k=random.randrange(10, 60))
    some += random.choices(OTHERS, k=seed % 3 == 0)
    random.shuffle(some)
    listed = random.choice([", ", ",", " ,\n"]).join(some)
    is_not = random.choice(["", "NOT "])
    plain = f"a.v {is_not}IN ({listed} )"
    apart = f"a.v {is_not}IN /**/ (/**/ {listed} )"
    assert parse_condition(plain) == parse_condition(apart)
    assert values(plain) == values(apart)


def test_what_is_no_list_is_refused_where_it_is() -> None:
    some = ", ".join(map(str, range(100)))
    for text, place in ((f"a.v IN ({some}) 7)", ") 7"), (f"a.v IN ({some}, ) ", ", )")):
        with pytest.raises(QuerySyntaxError) as error:
            parse_condition(text)
        (problem,) = error.value.diagnostics
        assert abs(problem.span[0] - text.index(place)) <= 2
    for wrong in ("'it's'", "-'x'", '"x', "--7", "1 2"):
        with pytest.raises(QuerySyntaxError):
            parse_condition(f"a.v IN ({some}, {wrong})")
    with pytest.raises(QuerySyntaxError, match="a number of 5000 digits fits no column"):
        parse_condition(f"a.v IN ({some}, {'9' * 5000})")


@pytest.mark.parametrize("form", ["{}", "-{}", "{}.5", "'{}'", '"{}"', "‘{}’"])
def test_many_literals_are_one_terminal(form: str) -> None:
    some = ", ".join(map(form.format, range(5_000)))
    for text, is_one in ((f"a.v IN ({some})", True), (f"a.v IN (/**/ {some})", False)):
        tree = parser().parse(text, start="condition")
        assert [
            *map(len, ([*tree.find_data("long_membership")], [*tree.find_data("membership")]))
        ] == [is_one, not is_one]
        assert (sum(1 for _ in tree.iter_subtrees()) < 10) is is_one

"""Binding as a whole: every problem at once, schemas of each kind, windows, columns."""

from fractions import Fraction

import pytest

from sase.binding import BoundQuery, Schema, bind_text
from sase.binding.bound import WindowKind
from sase.binding.schema_file import schema_from
from sase.errors import BindingError, SchemaError
from sase.lang.ast import StrategyName

RETAIL = schema_from(
    {
        "time_unit": "s",
        "types": {
            "SHELF": {"tag": "integer", "shelf": "integer"},
            "EXIT": {"tag": "integer", "door": "string"},
        },
    }
)


def codes(text: str, schema: Schema = RETAIL, **options: object) -> list[str]:
    """The codes of a query's errors in the order in which they are reported."""
    with pytest.raises(BindingError) as caught:
        bind_text(text, schema, **options)  # type: ignore[arg-type]
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def bound(text: str, schema: Schema = RETAIL, **options: object) -> BoundQuery:
    """A query that is right."""
    return bind_text(text, schema, **options)  # type: ignore[arg-type]


def test_every_problem_is_reported_in_order_of_place() -> None:
    """Errors of all clauses, none hiding another; an unknown type may have any attribute."""
    text = """EVENT SEQ(SHLF x, !(EXIT y), EXIT y, SHELF s) WHERE s.tga = 1 AND [nothing]
              AND s.tag > 'a' WITHIN 0 huors HAVING y.door + 1 > 2 RETURN q.tag, s.tag, s.tag"""
    assert codes(text) == [
        "unknown-type",
        "duplicate-variable",
        "unknown-attribute",
        "incompatible-types",
        "bad-window",
        "unknown-unit",
        "negative-in-result",
        "unknown-variable",
        "column-clash",
    ]


def test_an_error_causes_no_others() -> None:
    """An unknown value compares and computes with anything."""
    assert codes("EVENT SHELF x WHERE abs(x.nope + 1) > 'text' AND NOT x.nope") == [
        "unknown-attribute",
        "unknown-attribute",
    ]


def test_a_component_knows_whom_it_admits() -> None:
    """Types, quantifiers and the names of those that have no variable."""
    query = bound("EVENT SEQ(SHELF, ANY(SHELF, EXIT)? b, !(ANY), SHELF{2,} c[], ANY d) WITHIN 9")
    shown = [(c.variable, c.types, c.negated, c.minimum, c.maximum) for c in query.components]
    assert shown == [
        ("SHELF_1", ("SHELF",), False, 1, 1),
        ("b", ("SHELF", "EXIT"), False, 0, 1),
        ("ANY_3", None, True, 1, 1),
        ("c", ("SHELF",), False, 2, None),
        ("d", None, False, 1, 1),
    ]
    assert [c.is_series for c in query.components] == [False, False, False, True, False]
    assert query.level == 2
    assert query.strategy is StrategyName.SKIP_TILL_ANY_MATCH


@pytest.mark.parametrize(
    ("within", "unit", "size"),
    [
        ("12 hours", "s", 43_200),
        ("1.5 s", "s", 2),
        ("1.5 s INCLUSIVE", "s", 1),
        ("0.1 s", "ns", 100_000_000),
        ("1500", "s", 1500),
        ("0.5", "s", 1),
        ("3 weeks", "d", 21),
        ("99999999999999999999 days", "ns", 2**63 - 1),
    ],
)
def test_windows_are_whole_raw_units(within: str, unit: str, size: int) -> None:
    """Rounded up, or down if INCLUSIVE, so that the comparison is exact."""
    schema = Schema(time_unit=unit)
    window = bound(f"EVENT SEQ(A a, B b) WITHIN {within}", schema).window
    assert window is not None
    assert window.size == size


def test_windows_in_events_and_unknown_units() -> None:
    """The kind is data; a size that needs the unit of the time column waits for it."""
    window = bound("EVENT SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS PER PARTITION", Schema()).window
    assert window is not None
    assert (window.kind, window.size) == (WindowKind.PARTITION_EVENTS, 5)
    window = bound("EVENT SEQ(A a, B b) WITHIN 2.5 minutes", Schema()).window
    assert window is not None
    assert (window.amount, window.unit, window.size) == (Fraction(5, 2), "minutes", None)


def test_a_unit_needs_to_know_what_integers_count() -> None:
    """It is an error only where the time column is known to hold integers."""
    columns = schema_from({"columns": {"ts": "integer", "id": "integer"}})
    assert codes("EVENT SEQ(A a, B b) WITHIN 5 s", columns) == ["unit-of-integer-time"]
    timestamps = schema_from({"columns": {"ts": "timestamp(ms)"}})
    window = bound("EVENT SEQ(A a, B b) WITHIN 5 s", timestamps).window
    assert window is not None
    assert window.size == 5000


def test_one_wide_table() -> None:
    """Every type has every column; a column that is not there is a mistake even for ANY."""
    schema = schema_from({"columns": {"ts": "integer", "type": "string", "p": "float"}})
    query = bound("EVENT SEQ(A a, ANY b) WHERE a.p < b.p AND [p] AND a.type = 'A'", schema)
    assert query.equivalences[0].declared == (True, True)
    assert codes("EVENT SEQ(A a, ANY b) WHERE b.q > 1", schema) == ["unknown-attribute"]


def test_an_attribute_that_an_any_may_lack() -> None:
    """The bound reference says which types do not declare it."""
    query = bound("EVENT SEQ(ANY(SHELF, EXIT) a, SHELF b) WHERE a.shelf = 1 AND [shelf]")
    comparison = query.conjuncts[0].condition
    assert comparison.left.undeclared_by == frozenset({"EXIT"})  # type: ignore[union-attr]
    assert query.equivalences[0].declared == (False, True)


def test_types_by_condition() -> None:
    """Their conditions are bound, too, and their own errors name the type."""
    schema = schema_from(
        {"columns": {"reader": "string"}, "definitions": {"Exit": "reader LIKE 'X%'"}}
    )
    query = bound("EVENT Exit e WHERE reader = 'X1'", schema)
    assert [name for name, _ in query.definitions] == ["Exit"]
    broken = schema_from({"columns": {"reader": "string"}, "definitions": {"Exit": "raeder = 1"}})
    with pytest.raises(BindingError, match=r"types\['Exit'\]:1:1"):
        bound("EVENT Exit e", broken)
    assert codes("EVENT Shelf s", schema) == ["unknown-type"]


def test_parameters() -> None:
    """Without any given they stay open; given, each must be there and fit."""
    text = "EVENT SHELF x WHERE x.tag = :tag WITHIN :w s LIMIT :n"
    assert bound(text).limit is not None
    query = bound(text, parameters={"tag": 3, "w": 5, "n": 2})
    assert (query.limit, query.window.size if query.window else None) == (2, 5)
    assert codes(text, parameters={"tga": 3, "w": 5, "n": 2}) == ["missing-parameter"]
    assert codes(text, parameters={"tag": "x", "w": "y", "n": -1}) == [
        "incompatible-types",
        "bad-parameter",
        "bad-parameter",
    ]
    assert codes(text, parameters={"tag": object(), "w": 0, "n": 1}) == [
        "bad-parameter",
        "bad-window",
    ]


def test_names_of_columns() -> None:
    """Given, or made from the columns that they show; two of one name are an error."""
    query = bound("EVENT SHELF x RETURN x.tag, x.tag AS t, abs(x.tag), x.tag + 1, x.shelf")
    assert query.columns is not None
    assert [c.name for c in query.columns] == ["x_tag", "t", "abs_x_tag", "column_4", "x_shelf"]
    assert codes("EVENT SHELF x RETURN x.tag AS ts_start") == ["column-clash"]
    assert codes("EVENT SEQ(SHELF SHELF_2, SHELF)") == ["column-clash"]
    clash = "EVENT SEQ(A x_y, B x)"
    schema = schema_from({"types": {"A": {"z": "float"}, "B": {"y_z": "float"}}})
    assert bound(clash, schema)
    assert codes(clash, schema, flat=True)[0] == "column-clash"
    assert bound("EVENT SEQ(A+ x_y[], B x)", schema, flat=True)  # a series is one column


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"tpyes": {}}, "did you mean `types`"),
        ({"types": {"A": {"x": "integr"}}}, "types.A.x: `integr` is not a type.*`integer`"),
        ({"types": {"A": 3}}, "types.A must be a table"),
        ({"time_unit": "mz"}, "`mz` is not a unit of time"),
        ([], "a schema must be a table"),
    ],
)
def test_a_wrong_schema_says_where(data: object, message: str) -> None:
    """The path into the file, and the nearest word."""
    with pytest.raises(SchemaError, match=message):
        schema_from(data)


def test_a_schema_takes_no_dict_of_types() -> None:
    with pytest.raises(SchemaError, match="a schema takes no dict of types: give it as  types=…"):
        Schema(time="ts", types={"A": {"v": "int64"}})  # type: ignore[arg-type]

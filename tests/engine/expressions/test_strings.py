"""The interner and the tables over its codes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.binding.types import STRING, DataType, Kind
from sase.engine.columns.events import EventColumn
from sase.engine.expressions import Interner, Vector, columns_of, vector_of
from sase.engine.expressions.strings import BY_RANK, CAPACITY, RANK, Table, TextDictionary
from sase.engine.expressions.strings import like as form
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER, NULL
from tests.engine.expressions.generators import texts
from tests.faults.processes import Programs
from tests.naive.values import like

# Not in a text of the letter a alone, which a part of each begins to match everywhere.
HOSTILE = ["%a%a%a%ab", "%a" * 20 + "b", "%a_" * 200 + "b", f"%{'a' * 4000}b%", "%" * 4000 + "b"]


@given(st.lists(st.lists(texts, max_size=4), max_size=4))
def test_tables_follow_the_strings(batches: list[list[str]]) -> None:
    """Codes never change, and every table is right for every code that it is for."""
    interner, codes = Interner(), {}
    lower, upper = Table("lower", level=0), Table("upper", level=1)
    longer, length = Table("concat", ("a",), 1, 0), Table("length")
    numbers = {t: interner.table(t) for t in (lower, upper, longer, length, RANK, BY_RANK)}
    for batch in batches:
        for text, code in zip(batch, interner.codes_of(batch).tolist(), strict=True):
            assert codes.setdefault(text, code) == code
        tables = {table: interner.tables()[number] for table, number in numbers.items()}
        ordered = sorted(interner.texts)
        made = {*codes, *map(str.lower, codes), *(f"a{text}" for text in codes)}
        for code, text in enumerate(interner.texts):
            assert tables[length][code] == len(text)
            assert ordered[tables[RANK][code]] == text
            assert tables[BY_RANK][tables[RANK][code]] == code
            if text in codes:
                assert interner.texts[tables[lower][code]] == text.lower()
                assert interner.texts[tables[longer][code]] == f"a{text}"
            if text in made:
                assert interner.texts[tables[upper][code]] == text.upper()
        assert {*interner.texts} == made | {text.upper() for text in made}


def test_strings_that_functions_made_are_not_saved() -> None:
    """Otherwise a stream would make longer ones each time that it is restored."""
    query = "EVENT SEQ(A x, A y) WHERE concat(x.s, 'a') = 'xa' AND x.s = y.s WITHIN 9"
    plan = sase.compile(query, [{"ts": 0, "type": "A", "s": "x"}])
    matcher = plan.open()
    for time in range(8):
        matcher.push([{"ts": time, "type": "A", "s": "x"}])
        snapshot = matcher.snapshot()
        matcher = plan.restore(snapshot)
    assert len(matcher.push([{"ts": 8, "type": "A", "s": "x"}])) == 8
    assert b"xaa" not in snapshot


def test_a_restored_stream_frees_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though no function has made one since."""
    monkeypatch.setattr(TextDictionary, "is_full", True)
    query = "EVENT SEQ(A x, A y) WHERE x.s LIKE 'x%' AND y.s LIKE 'x%' WITHIN 2"
    plan = sase.compile(query, [{"ts": 0, "type": "A", "s": "x"}])
    matcher, found = plan.open(), 0
    for time in range(12):
        found += len(matcher.push([{"ts": time, "type": "A", "s": f"x{time}"}]))
        matcher = plan.restore(matcher.snapshot())
        matcher.advance(time + 1)
    assert found == 11


def test_a_table_may_be_asked_for_late_and_strings_may_be_many() -> None:
    interner = Interner()
    interner.codes_of(map(str, range(3 * CAPACITY)))
    ranks = interner.tables()[interner.table(RANK) :]
    assert ranks.shape[0] == 0
    number = interner.table(BY_RANK)
    order = interner.tables()[number, : len(interner)]
    assert [interner.texts[code] for code in order] == sorted(interner.texts)
    assert not interner.tables().flags.writeable


@given(texts, st.text("ab%_\\.x\n", max_size=5))
def test_like(text: str, pattern: str) -> None:
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        pattern += "\\"  # the naive matcher takes no single backslash at the end
    assert (form(pattern).fullmatch(text) is not None) == like(text, pattern)


@given(st.text("ab", max_size=12), st.text("ab%_", max_size=9))
def test_wildcards_of_few_letters_are_those_of_the_naive_matcher(text: str, pattern: str) -> None:
    assert (form(pattern).fullmatch(text) is not None) == like(text, pattern)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_pattern_ends(pattern: str, forked: Programs) -> None:
    """In a process of its own, since a regular expression that backtracks cannot be stopped."""
    ask = (
        "import sys; from sase.engine.expressions.strings import like;"
        "print(like(sys.argv[1]).fullmatch('a' * 100_000) is not None)"
    )
    assert forked.printed(ask, pattern) == "False\n"


def test_like_stands_in_a_table() -> None:
    interner = Interner()
    number = interner.table(Table("like", ("a%",)))
    codes = interner.codes_of(["abc", "b", None])
    assert codes.tolist() == [0, 1, -1]
    assert interner.tables()[number, codes[:2]].tolist() == [1, 0]


def test_a_dictionary_is_mapped_to_the_codes_of_the_plan() -> None:
    interner = Interner()
    interner.code("b")
    dictionary = pa.array(["a", "b"], pa.large_string())
    values = np.array([1, 0, -1, 1], np.int32)
    vector = vector_of(EventColumn(STRING, values, values >= 0, dictionary), interner)
    assert vector.values.tolist() == [0, 1, -1, 0]


@pytest.mark.parametrize(
    ("data_type", "tag", "first"),
    [
        (DataType(Kind.TIMESTAMP, "d"), EXACT, 86400),
        (DataType(Kind.TIMESTAMP, "s"), EXACT, 1),
        (DataType(Kind.INTERVAL, "ns"), EXACT + 9, 1),
        (DataType(Kind.DECIMAL, scale=4), EXACT + 4, 1),
    ],
)
def test_the_tag_of_a_column_says_its_unit(data_type: DataType, tag: int, first: int) -> None:
    vector = vector_of(EventColumn(data_type, np.array([1, 2], np.int64)), Interner())
    assert (vector.tag, vector.values[0]) == (tag, first)


def test_a_single_lane_is_not_copied() -> None:
    values = np.arange(3)
    columns = columns_of([Vector(values, INTEGER)], np.zeros(3, np.int16), Interner().tables())
    assert np.shares_memory(columns.cells, values)
    assert columns.tags.tolist() == [[INTEGER] * 3]


def test_lanes_side_by_side() -> None:
    valid = np.array([True, False])
    vectors = [
        Vector(np.array([0.5, 1.5]), FLOAT),
        Vector(np.array([1, 2], np.int32), INTEGER, valid),
    ]
    columns = columns_of(vectors, np.zeros(2, np.int16), Interner().tables())
    assert columns.cells.view(np.float64)[0].tolist() == [0.5, 1.5]
    assert columns.cells[1].tolist() == [1, 2]
    assert columns.tags.tolist() == [[FLOAT, FLOAT], [INTEGER, NULL]]

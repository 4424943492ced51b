"""Files of events: which they are, their columns, and that no event of them is lost."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.engine.pipeline.batch import run
from sase.engine.sources import names_found, open_files
from sase.lang.parser import parse_query
from tests import naive

ROWS = [
    {"ts": 1, "type": "A", "id": 7, "note": "x"},
    {"ts": 2, "type": "B", "id": 7, "note": None},
    {"ts": 2, "type": "C", "id": 8, "note": 'a "quoted", note\nof two lines'},
    {"ts": 5, "type": "C", "id": 7, "note": ""},
]
QUERY = "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 10"


def parquet(path: Path, rows: list[dict[str, object]]) -> None:
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


def arrow(path: Path, rows: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def csv(path: Path, rows: list[dict[str, object]]) -> None:
    options = pyarrow.csv.WriteOptions(delimiter="\t" if ".tsv" in path.name else ",")
    with pa.output_stream(path, compression=CODECS.get(path.suffix.lower())) as file:
        pyarrow.csv.write_csv(pa.Table.from_pylist(rows), file, write_options=options)


def jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    with pa.output_stream(path, compression=CODECS.get(path.suffix.lower())) as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())


WRITERS = {
    "e.parquet": parquet, "e.arrow": arrow, "e.feather": arrow, "e.csv": csv, "e.csv.gz": csv,
    "e.jsonl": jsonl, "e.ndjson": jsonl, "e.jsonl.gz": jsonl,
}  # fmt: skip


TEXTS = {"csv": csv, "tsv": csv, "jsonl": jsonl, "ndjson": jsonl, "json": jsonl}
COMPRESSED = {f"e.{name}{codec}": write for name, write in TEXTS.items() for codec in CODECS}


@pytest.mark.parametrize("name", [*COMPRESSED, "E.CSV.ZST", "E.JSONL.GZ"])
def test_text_may_be_compressed_in_every_way(name: str, tmp_path: Path) -> None:
    """As a file and a folder of them, at once and in pieces, and where a row is bad."""
    write = COMPRESSED[name.lower()]
    (tmp_path / "day=7").mkdir()
    path = tmp_path / "day=7" / name
    write(path, ROWS)
    expected = [row | {"day": 7} for row in ROWS]
    for events in (path, tmp_path):
        assert sase.match(QUERY, events).to_pylist() == sase.match(QUERY, expected).to_pylist()
    in_pieces = run(sase.compile(QUERY, path).engine, path, held=0)
    assert in_pieces.rows.to_pylist() == [{"a": 0, "b": 1, "c": 3}]
    write(path, [*ROWS, {"ts": None, "type": "C", "id": 7, "note": "late"}])
    with pytest.raises(sase.DataError, match="`ts` is NULL"):
        sase.match(QUERY, path)
    found = sase.match(QUERY, path, on_bad_row="quarantine")
    assert (len(found), found.report.bad) == (1, 1)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_matches(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name, ROWS)
    found = sase.match(QUERY, tmp_path / name)
    assert found.rows.to_pylist() == [{"a": 0, "b": 1, "c": 3}]
    assert found.to_pylist() == sase.match(QUERY, ROWS).to_pylist()


@pytest.mark.parametrize("name", WRITERS)
def test_only_the_columns_that_are_needed_are_read(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name, ROWS)
    plan = sase.compile(f"{QUERY} RETURN c.ts AS t", tmp_path / name)
    (part,) = plan.run(tmp_path / name).parts
    (table,) = part.history.pieces[0].inputs.tables  # type: ignore[union-attr]
    assert table.names == ["ts", "type", "id"]


@pytest.mark.parametrize("write", [parquet, arrow, csv, jsonl])
def test_a_folder_and_a_pattern_are_read_in_the_order_of_their_names(
    write: Callable[[Path, object], None], tmp_path: Path
) -> None:
    suffix = {parquet: ".parquet", arrow: ".arrow", csv: ".csv", jsonl: ".jsonl"}[write]
    for number, row in enumerate(ROWS):
        (tmp_path / f"part{number}").mkdir()
        write(tmp_path / f"part{number}" / f"e{suffix}", [row])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / f"e{suffix}.partial").write_text("left by a run that failed", encoding="utf-8")
    for path in (tmp_path, tmp_path / "*" / f"e{suffix}", tmp_path / "**" / f"*{suffix}"):
        assert sase.match(QUERY, path).rows.to_pylist() == [{"a": 0, "b": 1, "c": 3}]


def test_folders_may_be_columns(tmp_path: Path) -> None:
    for row in ROWS:
        folder = tmp_path / f"shop={row['id']}" / f"kind={row['type']}"
        folder.mkdir(parents=True)
        csv(folder / "e.csv", [{"ts": row["ts"]}])
    found = sase.match("EVENT SEQ(A a, C c) WHERE [shop] WITHIN 10", tmp_path, type="kind")
    assert [(row["a"]["ts"], row["c"]["ts"], row["c"]["shop"]) for row in found] == [(1, 5, 7)]


@pytest.mark.parametrize("write", [parquet, csv, jsonl])
def test_folders_are_columns_however_files_are_found(
    write: Callable[[Path, object], None], tmp_path: Path
) -> None:
    suffix = {parquet: ".parquet", csv: ".csv", jsonl: ".jsonl"}[write]
    for number, day in enumerate(["2026-01-30", "2026-01-31"]):
        (tmp_path / f"day={day}" / "_tmp").mkdir(parents=True)
        for row in ROWS[:2]:
            path = tmp_path / f"day={day}" / f"{row['type']}{suffix}"
            write(path, [{**row, "ts": row["ts"] + number}])
        (tmp_path / f"day={day}" / "_tmp" / f"e{suffix}").write_text("left", encoding="utf-8")
    last = "day=2026-01-31"
    for path, count in (
        (tmp_path, 2), (tmp_path / "*" / f"*{suffix}", 2), (tmp_path / "**" / f"*{suffix}", 2),
        (tmp_path / last, 1), (tmp_path / "*31" / "*", 1),
    ):  # fmt: skip
        found = sase.match("EVENT SEQ(A a, B b) WHERE [day] RETURN a.day AS day", path)
        assert [row["day"] for row in found] == ["2026-01-30", "2026-01-31"][2 - count :]
    (row,) = sase.match("EVENT A a RETURN a.day AS day", tmp_path / last / f"A{suffix}")
    assert row["day"] == "2026-01-31"


def test_a_column_of_the_files_is_no_folders(tmp_path: Path) -> None:
    (tmp_path / "day=7").mkdir()
    for write, name in ((parquet, "e.parquet"), (csv, "e.csv"), (jsonl, "e.jsonl")):
        write(tmp_path / "day=7" / name, [{"ts": 1, "type": "A", "day": 5}])
        for path in (tmp_path / "day=7" / name, tmp_path / "day=7" / f"*{name[1:]}"):
            assert [row["d"] for row in sase.match("EVENT A a RETURN a.day AS d", path)] == [5]


def test_files_may_lack_columns_and_have_wider_ones(tmp_path: Path) -> None:
    parquet(tmp_path / "1.parquet", [{"ts": 1, "type": "A", "v": 1}])
    parquet(tmp_path / "2.parquet", [{"ts": 2, "type": "B"}])
    parquet(tmp_path / "3.parquet", [{"ts": 3, "type": "B", "v": 1.5}])
    found = sase.match("EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 9", tmp_path)
    assert found.rows.to_pylist() == [{"a": 0, "b": 2}]


ONE, OTHER = [2**63 + 5, 1], [-1, 2]


@pytest.mark.parametrize("name", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(ONE, pa.uint64()), pa.array(OTHER, pa.int64())),
        (pa.array([2**53 + 1, 1]), pa.array([0.5, 1.5])),
        (pa.array([2**40, 1], pa.timestamp("s")), pa.array(OTHER, pa.timestamp("ns"))),
    ],
)
def test_values_that_do_not_fit_the_type_of_all_files_are_no_damage(
    name: str, one: pa.Array, other: pa.Array, tmp_path: Path
) -> None:
    for number, column in enumerate((one, other)):
        table = pa.table({"ts": [1, 2], "type": ["A", "B"], "v": column})
        path = tmp_path / f"{number}.{name}"
        (pa.parquet.write_table if name == "parquet" else pa.feather.write_feather)(table, path)
    for query in ("EVENT A a", "EVENT A a WHERE a.v = a.v"):
        with pytest.raises(sase.DataError, match="0[.].* has a value that does not fit") as told:
            sase.match(query, tmp_path)
        assert "damaged" not in str(told.value)
        assert "write the files with one type" in str(told.value)
    assert len(sase.match("EVENT A a RETURN a.ts AS t", tmp_path)) == 2


def test_integers_of_one_file_are_beside_decimals_of_another(tmp_path: Path) -> None:
    for number, column in enumerate((pa.array([2**62]), pa.array([1], pa.decimal128(18, 2)))):
        table = pa.table({"ts": [1], "type": ["A"], "v": column})
        pa.parquet.write_table(table, tmp_path / f"{number}.parquet")
    assert [row["a"]["v"] for row in sase.match("EVENT A a", tmp_path)] == [2**62, 1]


def test_tables_of_several_types_may_be_files(tmp_path: Path) -> None:
    csv(tmp_path / "a.csv", [{"ts": 1, "x": 1}])
    parquet(tmp_path / "b.parquet", [{"ts": 2, "y": 1}])
    events = {"A": tmp_path / "a.csv", "B": str(tmp_path / "b.parquet")}
    found = sase.match("EVENT SEQ(A a, B b) WHERE a.x = b.y WITHIN 9", events)
    assert found.rows.to_pylist() == [{"a": 0, "b": 1}]


TEXTS = st.sampled_from(["x", "", "a,b", 'say "so"', "two\nlines", "é", "NULL", "x y", None])
STREAMS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 20),
            "type": st.sampled_from("ABC"),
            "id": st.integers(0, 2) | st.none(),
            "f": st.sampled_from([0.5, -2.25, 1e300, None]),
            "note": TEXTS,
        }
    ),
    min_size=1,
    max_size=30,
)
QUERIES = [
    "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 9",
    "EVENT SEQ(A a, !(C c), B b) WHERE a.note = b.note WITHIN 12",
    "EVENT SEQ(A a, B b) WHERE a.f < b.f WITHIN 5 EVENTS RETURN a.note, b.f AS f",
]


@given(STREAMS, st.sampled_from(QUERIES), st.sampled_from(list(WRITERS)), st.integers(1, 4))
def test_random_streams_by_every_format(
    rows: list[dict[str, object]], query: str, name: str, files: int
) -> None:
    """In one file or several, sorted or not: the naive matcher finds the same."""
    # So that a column has a type in each file, and text looks like nothing else.
    first = {"ts": 0, "type": "Z", "id": 0, "f": 0.5, "note": "x"}
    stem, _, suffix = name.partition(".")
    with tempfile.TemporaryDirectory() as folder:
        size = -(-len(rows) // files)
        parts = [[first, *rows[begin : begin + size]] for begin in range(0, len(rows), size)]
        for number, part in enumerate(parts):
            WRITERS[name](Path(folder) / f"{stem}{number}.{suffix}", part)
        found = sase.match(query, folder)
        got = [tuple(row.values()) for row in found.rows.to_pylist()]
    every = [row for part in parts for row in part]
    expected = naive.match(parse_query(query), every)
    assert got == [tuple(row for (row,) in match.events) for match in expected]
    if "RETURN" in query:
        values = [{name: row[name] for name in ("a_note", "f")} for row in found]
        assert values == [match.values for match in expected]


# ---------------------------------------------------------------- discovery


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["ts", "type"], ("ts", "type")),
        (["Timestamp", "Activity", "case"], ("Timestamp", "Activity")),
        (["case:x", "concept:name", "time:timestamp"], ("time:timestamp", "concept:name")),
        (["time", "ts", "event", "type"], ("ts", "type")),
        (["time", "price"], ("time", None)),
    ],
)
def test_columns_with_usual_names(columns: list[str], found: tuple[str, str | None]) -> None:
    names = names_found(columns, None, None)
    assert (names.time, names.type) == found
    told = " ".join(names.notes)
    assert all(f"`{name}`" in told for name in found if name not in ("ts", "type", None))


def test_a_name_that_is_given_must_be_there() -> None:
    with pytest.raises(sase.SchemaError, match="no time column `tsx`: did you mean `ts`"):
        names_found(["ts", "type"], "tsx", None)
    with pytest.raises(sase.SchemaError, match="say which of a, b it is"):
        names_found(["a", "b"], None, None)


def test_text_of_moments_is_parsed_where_it_is_named(tmp_path: Path) -> None:
    days = {"sold": "2026-01-01", "made": "2025-01-01T00:00:00.5"}
    first = {"time": "2026-01-01T00:00:00.5Z", "type": "A", **days}
    last = {"time": "2026-01-01T00:00:03Z", "type": "B", **days, "sold": "2026-01-02"}
    jsonl(tmp_path / "e.jsonl", [first, last])
    query = "EVENT SEQ(A a, B b) WHERE b.sold - a.sold = 1 day WITHIN 3 seconds"
    (found,) = sase.match(query, tmp_path / "e.jsonl")
    assert found["ts_end"].isoformat() == "2026-01-01T00:00:03+00:00"
    assert found["a"]["made"] == "2025-01-01T00:00:00.5"


# ---------------------------------------------------------------- more than memory holds


@pytest.mark.parametrize("shuffled", [False, True])
def test_files_in_pieces_and_sorted_on_disk(shuffled: bool, tmp_path: Path) -> None:
    rows = [
        {"ts": number // 3, "seq": number, "type": "ABC"[number % 3], "id": number % 7}
        for number in range(150)
    ]
    if shuffled:
        rows = rows[75:] + rows[30:75] + rows[:30]
    for number in range(5):
        parquet(tmp_path / f"{number}.parquet", rows[number * 30 : number * 30 + 30])
    plan = sase.compile("EVENT SEQ(A a, C c) WHERE [id] WITHIN 40", tmp_path, seq="seq")
    whole, pieces = plan.run(tmp_path), run(plan.engine, tmp_path, held=0)
    assert len(whole) > 50
    assert pieces.rows.equals(whole.rows)
    assert pieces.to_pylist() == whole.to_pylist()
    told = " ".join(pieces.report.notes)
    assert ("sorted on disk" in told) == shuffled


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.tsv.zst", "e.jsonl", "e.parquet"])
def test_blocks_come_in_their_order_and_none_is_missing(name: str, tmp_path: Path) -> None:
    """Arrow reads several blocks at a time; simultaneous events keep the order of their rows."""
    rows = [
        {"ts": number // 500, "type": "A", "n": number, "note": f"n{number:02000}"}
        for number in range(300 if name == "e.parquet" else 2_000)  # of two rows in a row group
    ]
    {**WRITERS, **COMPRESSED}[name](tmp_path / name, rows)
    plan = sase.compile("EVENT A a RETURN a.n AS n, a.note AS note", tmp_path)
    expected = [(row["n"], row["n"], row["note"]) for row in rows]
    for found in (plan.run(tmp_path), run(plan.engine, tmp_path, held=0)):
        assert expected == [
            (place["a"], row["n"], row["note"])
            for place, row in zip(found.rows.to_pylist(), found.to_pylist(), strict=True)
        ]


def test_dictionaries_that_hold_null_are_sorted_on_disk(tmp_path: Path) -> None:
    for number, names in enumerate([[None, "z", "x"], ["x", None]]):
        codes = pa.array([0, 1, len(names) - 1, None], pa.int8())
        columns = {"ts": [row - 4 * number for row in range(4)], "type": ["A", "B"] * 2}
        table = pa.table(columns | {"s": pa.DictionaryArray.from_arrays(codes, names)})
        with pa.ipc.new_file(tmp_path / f"{number}.arrow", table.schema) as writer:
            writer.write_table(table)
    plan = sase.compile("EVENT SEQ(A a, B b) RETURN a.s AS a, b.s AS b", tmp_path)
    whole, pieces = plan.run(tmp_path), run(plan.engine, tmp_path, held=0)
    assert {(row["a"], row["b"]) for row in whole} == {
        ("x", None), (None, None), (None, "z"), ("x", "z")
    }  # fmt: skip
    assert pieces.to_pylist() == whole.to_pylist()
    assert "sorted on disk" in " ".join(pieces.report.notes)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_bad_row_in_pieces_has_its_number(shuffled: bool, tmp_path: Path) -> None:
    rows = [{"ts": number, "type": "A", "id": number} for number in range(100)]
    rows[60]["type"] = None
    if shuffled:
        rows.insert(0, rows.pop())
    for number in range(4):
        parquet(tmp_path / f"{number}.parquet", rows[number * 25 : number * 25 + 25])
    plan = sase.compile("EVENT A a WHERE a.id > 0", tmp_path)
    with pytest.raises(sase.DataError) as problem:
        assert len(run(plan.engine, tmp_path, held=0))
    place = "row 61 (from 0)" if shuffled else "2.parquet, row 10 (from 0)"
    assert f"{place}: `type` is NULL" in str(problem.value)
    plan = sase.compile("EVENT A a WHERE a.id > 0", tmp_path, on_bad_row="quarantine")
    report = run(plan.engine, tmp_path, held=0).report
    assert report.quarantined["sase_row"].to_pylist() == [60 + shuffled]


def test_limit_ends_the_reading(tmp_path: Path) -> None:
    rows = [{"ts": number, "type": "A"} for number in range(100)]
    for number in range(10):
        parquet(tmp_path / f"{number}.parquet", rows[number * 10 : number * 10 + 10])
    found = run(sase.compile("EVENT A a LIMIT 12", tmp_path).engine, tmp_path, held=0)
    assert len(found) == 12
    assert not found.report.is_complete
    assert found.report.rows < 100


# ---------------------------------------------------------------- row groups that are not read

TYPED = [
    {"ts": 10 * number + 7 * of_type, "type": kind, "id": number % 3, "f": 0.5}
    for of_type, kind in enumerate("ABCD")
    for number in range(20)
]


def test_row_groups_without_an_event_of_interest_are_not_read(tmp_path: Path) -> None:
    """By one thread and by three in turn."""
    table = pa.Table.from_pylist(TYPED)
    for name, rows in (("1", table.slice(0, 50)), ("2", table.slice(50))):
        pyarrow.parquet.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=10)
    queries = (
        ("EVENT SEQ(A a, D d) WHERE [id] WITHIN 50", 40),
        ("EVENT SEQ(A a, !(C c), D d) WHERE [id] AND c.ts < 100 WITHIN 50", 30),
        ("EVENT SEQ(A a, D d) WHERE [id] WITHIN 50 RETURN a.ts, d.ts AS t LIMIT 3", 40),
        ("EVENT SEQ(A a, D d) WHERE [id] WITHIN 9 EVENTS", 0),  # where every event counts
        ("EVENT SEQ(A a, ANY d) WHERE [id] WITHIN 50", 0),
        ("EVENT SEQ(A a, D d) WHERE a.f = d.f WITHIN 50", 40),
        ("EVENT SEQ(A a, D d) WHERE a.f = d.f AND a.f < 0 WITHIN 50", 40),
        ("EVENT SEQ(A a, D d) WHERE a.ts >= 100 WITHIN 50", 50),
        ("EVENT SEQ(A a, D d) WHERE 90 >= d.ts WITHIN 50", 60),
        ("EVENT SEQ(A a, !(C c), D d) WHERE d.ts BETWEEN 100 AND 104 WITHIN 50", 40),
        ("EVENT SEQ(A a, !(C c), D d) WHERE a.ts > 110 AND d.ts < 150 WITHIN 9", 40),
        ("EVENT SEQ(!(C c), A a, D d) WHERE a.ts > 110 AND c.ts > 190 WITHIN 50", 40),
        ("EVENT SEQ(A a, D d, !(C c)) WHERE a.ts > 110 WITHIN 50", 40),
        ("EVENT SEQ(A a, D+ d[]) WHERE a.ts > 110 AND d[i].ts < 200 WITHIN 50", 50),
        ("EVENT SEQ(A a, D d) WHERE a.ts IN (5, 10) AND a.id = 1 WITHIN 50", 50),
        ("EVENT SEQ(A a, D d) OR SEQ(A a, B b) WHERE a.ts > 110 WITHIN 50", 40),
        ("EVENT SEQ(A a, D d) WHERE a.ts < 40 OR d.ts < 50 WITHIN 50", 40),
        ("EVENT SEQ(A a, D d) WHERE skip_till_next_match { a.ts > 110 } WITHIN 50", 50),
    )
    for threads, (query, unread) in zip(cycle((1, 3)), queries, strict=False):
        found, expected = sase.match(query, tmp_path, threads=threads), sase.match(query, table)
        assert len(expected) > 0 or "a.f < 0" in query or "WITHIN 9" in query, query
        assert found.rows.equals(expected.rows)
        assert found.to_pylist() == expected.to_pylist()
        told = " ".join(found.report.notes)
        assert (f"{unread} rows were not read" in told) == (unread > 0), (query, told)


def test_row_groups_with_a_bad_row_are_read(tmp_path: Path) -> None:
    for column in ("ts", "type", "id"):
        rows = [dict(row) for row in TYPED]
        rows[25][column] = None  # a B, which the query does not ask for
        path = tmp_path / f"{column}.parquet"
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=10)
        query = "EVENT SEQ(A a, D d) WHERE [id] WITHIN 50"
        found = sase.match(query, path, on_bad_row="quarantine")
        bad = [] if column == "id" else [25]  # where NULL is a value like others
        assert found.report.quarantined["sase_row"].to_pylist() == bad
        assert found.rows.equals(sase.match(query, TYPED).rows)


# ---------------------------------------------------------------- a file that cannot be used


def fault(path: Path, query: str = "EVENT A a WHERE a.id > 0") -> str:
    with pytest.raises(sase.SaseError) as problem:
        assert len(sase.match(query, path)) >= 0
    return str(problem.value)


def test_no_file(tmp_path: Path) -> None:
    csv(tmp_path / "events.csv", ROWS)
    assert "did you mean `events.csv`" in fault(tmp_path / "event.csv")
    assert "no file matches this pattern" in fault(tmp_path / "*.parquet")
    assert "an address is given as text" in fault(Path("s3://bucket/day.parquet"))
    assert fault("file:///tmp/no.csv").endswith("say  /tmp/no.csv")
    for query in ("EVENT SEQ(A a, B? b[])", "\n  pattern A a", "FROM x EVENT A"):
        assert "this is a query, and the path of events should stand here" in fault(query)
    (tmp_path / "empty").mkdir()
    assert "matches folders and no files: try" in fault(tmp_path / "em*")
    assert "no files of events in this folder" in fault(tmp_path / "empty")


def test_files_of_no_known_format_or_of_several(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    assert "events are read from files of Parquet" in fault(tmp_path / "notes.txt")
    assert "events are read from files of Parquet" in fault(tmp_path)
    (tmp_path / "notes.txt").unlink()
    csv(tmp_path / "a.csv", ROWS)
    parquet(tmp_path / "b.parquet", ROWS)
    assert "all files must have one format" in fault(tmp_path)


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet", "e.arrow"])
def test_an_empty_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert f"{name} is empty" in fault(tmp_path / name)


def test_a_truncated_file(tmp_path: Path) -> None:
    for name in ("e.parquet", "e.arrow"):
        WRITERS[name](tmp_path / name, ROWS)
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        assert f"{name} cannot be read: it is truncated" in fault(tmp_path / name)


LONG_TYPE = "A" * 120


def many(line: str) -> str:
    """CSV in which the types are clear before an odd line comes: of more than a megabyte."""
    lines = [f"{number},{LONG_TYPE},{number}" for number in range(10_000)]
    return "\n".join(["ts,type,id", *lines, line, "10001,A,1"]) + "\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,A,1", "line 10002: `ts` is 'x': the values before are of the type int64"),
        ("10000,A,abc", "line 10002: `id` is 'abc': the values before are of the type int64"),
        ("10000,A", "line 10002: expected 3 columns, got 2: 10000,A"),
    ],
)
def test_a_broken_row_of_csv(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(many(line), encoding="utf-8")
    assert message in fault(tmp_path / "e.csv")


LONG = "é" * (1 << 20)
LIMIT = (
    "and rows of CSV are read up to 1,048,576 bytes; give the events as .parquet, .arrow or .jsonl"
)


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"ts,type,{LONG}\n1,A,1\n", f"line 1: the header has 1,048,585 characters, {LIMIT}"),
        (f"ts,type,id\n1,A,{LONG}\n2,A,3\n", "line 2: this row has 1,048,581 characters, and rows"),
        (many(f"10000,A,{LONG}"), "line 10002: this row has"),
        (many(f'10000,A,"{LONG}'), "line 10002: this row has 1,048,596 characters and ends in"
         " line 10003 (is a quote never closed?), and"),
    ],
)  # fmt: skip
def test_a_row_of_csv_that_is_longer_than_arrow_reads(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    with pa.output_stream(tmp_path / name, compression="gzip" if "gz" in name else None) as file:
        file.write(content.encode())
    assert message in fault(tmp_path / name)
    if "this row" in message and "quote" not in message:
        found = sase.match("EVENT ANY a WHERE a.ts >= 1", tmp_path / name, on_bad_row="quarantine")
        assert len(found) == content.count(",A") - content.count("\n0,A")


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    for content, line in (("ts,type,id\n1,café,1\n", 2), (many("10000,café,1"), 10_002)):
        (tmp_path / "e.csv").write_bytes(content.encode("latin-1"))
        assert f"line {line}: `type` is not UTF-8" in fault(tmp_path / "e.csv")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"ts": 2, "type":', "line 2: this is no JSON"),
        ('{"ts": 2, "type": "A", "id": "x"}', "line 2: `id` is 'x', and was of another kind"),
        ("[1, 2]", "line 2: every line is an object, and this is [1, 2]"),
    ],
)
def test_a_broken_line_of_json(line: str, message: str, tmp_path: Path) -> None:
    text = '{"ts": 1, "type": "A", "id": 1}\n' + line + "\n"
    (tmp_path / "e.jsonl").write_text(text, encoding="utf-8")
    assert message in fault(tmp_path / "e.jsonl")


def test_a_moment_that_is_none(tmp_path: Path) -> None:
    text = "timestamp,type,id\n2026-01-01 00:00:00,A,1\nyesterday,A,1\n2026-01-02 00:00:00,A,1\n"
    (tmp_path / "e.csv").write_text(text, encoding="utf-8")
    assert "row 1 (from 0): `timestamp` is 'yesterday': this is no moment" in fault(
        tmp_path / "e.csv"
    )


def test_a_file_that_vanishes_or_changes(tmp_path: Path) -> None:
    for number in range(3):
        parquet(tmp_path / f"{number}.parquet", ROWS)
    files = open_files(tmp_path)
    parquet(tmp_path / "1.parquet", ROWS + ROWS)
    with pytest.raises(sase.DataError, match=r"1\.parquet was changed while it was read"):
        files.table(["ts"])
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(sase.DataError, match=r"1\.parquet is not there any more"):
        files.table(["ts"])


@pytest.mark.parametrize("name", ["e.csv.gz", "e.jsonl.gz"])
def test_text_that_is_not_compressed_as_its_name_says(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("ts,type,id\n1,A,1\n", encoding="utf-8")
    assert f"{name} cannot be read: " in fault(tmp_path / name)


# ---------------------------------------------------------------- names that are none, and nothing


FLIGHTS = [
    {"ts": 1, "type": "Departure", "flight": "LH1"},
    {"ts": 2, "type": "Arrival", "flight": "LH1"},
]
LANDED = "EVENT SEQ(Departure a, Arrival b) WHERE [flight] WITHIN 10"


@pytest.mark.parametrize("policy", ["error", "quarantine"])
def test_a_header_that_is_not_utf_8(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_bytes("ts,type,flight,Verspätung\n1,Departure,LH1,5\n".encode("latin-1"))
    with pytest.raises(sase.DataError, match="flights.csv, line 1: the header is not UTF-8"):
        sase.match(LANDED, path, on_bad_row=policy)
    (tmp_path / "day=1").mkdir()
    path.rename(tmp_path / "day=1" / path.name)
    with pytest.raises(sase.DataError, match="flights.csv, line 1: the header is not UTF-8"):
        sase.match(LANDED, tmp_path, on_bad_row=policy)


def test_a_name_in_json_that_is_not_utf_8(tmp_path: Path) -> None:
    """It is an error as in a header; a quarantine does without the column."""
    path = tmp_path / "flights.jsonl"
    lines = [json.dumps(row) for row in FLIGHTS]
    odd = '{"ts": 3, "type": "Arrival", "flight": "LH1", "Verspätung": 5}'
    path.write_bytes("\n".join([odd, *lines]).encode("latin-1"))
    with pytest.raises(sase.DataError, match="line 1: a name in this line is not UTF-8"):
        sase.match(LANDED, path)
    found = sase.match(LANDED, path, on_bad_row="quarantine")
    assert found.rows.to_pylist() == [{"a": 1, "b": 2}, {"a": 1, "b": 0}]


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.csv", "e.csv.zst", "e.jsonl"])
@pytest.mark.parametrize(
    "days", [("1", "__HIVE_DEFAULT_PARTITION__"), ("__HIVE_DEFAULT_PARTITION__",)]
)
def test_a_folder_whose_column_is_null(name: str, days: tuple[str, ...], tmp_path: Path) -> None:
    write = {**WRITERS, **COMPRESSED}[name]
    for day, row in zip(days, FLIGHTS, strict=False):
        (tmp_path / f"day={day}").mkdir()
        write(tmp_path / f"day={day}" / name, [row])
    expected = [int(day) if day.isdecimal() else None for day in days]
    query = "EVENT ANY(Departure, Arrival) a RETURN a.day AS day"
    assert [row["day"] for row in sase.match(query, tmp_path)] == expected
    assert len(sase.match("EVENT ANY a WHERE a.day IS NULL", tmp_path)) == expected.count(None)
    shown = [row["a"]["day"] for row in sase.match("EVENT ANY a", tmp_path)]
    assert shown == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "2147483648"), int),
        (("1", "x"), str),
        (("1", "18446744073709551615"), str),
        (("__HIVE_DEFAULT_PARTITION__", "x"), str),
    ],
)
def test_the_type_of_folders_is_that_of_all(
    values: tuple[str, str], kind: type, tmp_path: Path
) -> None:
    for value, row in zip(values, FLIGHTS, strict=True):
        (tmp_path / f"key={value}").mkdir()
        parquet(tmp_path / f"key={value}" / "e.parquet", [row])
    found = [row["k"] for row in sase.match("EVENT ANY a RETURN a.key AS k", tmp_path)]
    assert found == [None if value.startswith("__") else kind(value) for value in values]


@pytest.mark.parametrize("policy", ["error", "quarantine"])
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_a_header_alone_has_no_match(policy: str, threads: int | None, tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_text("ts,type,flight\n", encoding="utf-8")
    for query in (
        LANDED.replace("10", "15 minutes"),
        "EVENT SEQ(Departure a, !(Arrival b)) WITHIN 1 h",
    ):
        found = sase.match(query, path, on_bad_row=policy, threads=threads)
        assert (len(found), found.report.rows) == (0, 0)
    plan = sase.compile(LANDED.replace("10", "15 minutes"), path)
    assert len(plan.run(path)) == len(plan.open().push(path)) == 0
    later = pa.table({"ts": pa.array([1], pa.timestamp("s")), "type": ["A"], "flight": ["x"]})
    with pytest.raises(sase.SchemaError, match="compiled without knowing the unit of time"):
        plan.run(later)


def test_rows_of_which_none_has_a_time(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_text("ts,type,flight\n,Departure,LH1\n", encoding="utf-8")
    query = LANDED.replace("10", "15 minutes")
    with pytest.raises(sase.DataError, match="`ts` is NULL: every event needs a time"):
        sase.match(query, path)
    assert sase.match(query, path, on_bad_row="quarantine").report.bad == 1

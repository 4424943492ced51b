"""The matches of a query: searched at first access, and gathered as columns when these are read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sase.base.interface import option, spelled
from sase.binding import Schema
from sase.engine.columns.arrow.slice import tidied
from sase.engine.report import Report
from sase.engine.resources import LEAST, Check, available_memory
from sase.engine.results.arrow_columns import flattened, python_rows, python_values
from sase.engine.results.batch import (
    FEW,
    PIECE,
    MatchBatch,
    MaterializedBatch,
    ResultBatch,
    gathered,
)
from sase.engine.results.repr import ROWS, as_html, as_text
from sase.errors import BudgetError, PlanError

if TYPE_CHECKING:
    from sase.engine.results.timeline import Timeline

# Bytes of matches converted at once, if memory is limited.
MOST_BYTES = 1 << 20
# Matches that a timeline shows, and a plot.
DRAWN, MOST_PLOTTED = 10, 100
# Errors of pandas for values that it cannot hold, such as dates after 9999.
NOT_HELD = (ValueError, ArithmeticError, pa.ArrowException)
# Yields batches in the order of results, at least one, even if empty; returns the report.
MatchSearch: TypeAlias = Callable[[], Generator[ResultBatch, None, Report]]


class Matches(Sequence[dict[str, Any]]):
    """The matches of a query, in order; the first access searches for them.

    `rows` are row numbers of the input. `to_arrow` and similar methods return the results: a struct
    for each variable or the columns of RETURN, `ts_start`, `ts_end` and `detected_at`. `to_reader`
    gives the same batch by batch, without keeping them. A pickle or copy has the results and the
    report, not the input.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> matches = sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
        >>> len(matches), matches[0]["b"]
        (1, {'ts': 2, 'type': 'B', 'id': 7})
        >>> matches.to_arrow()["detected_at"].to_pylist()
        [2]
    """

    def __init__(
        self,
        search: MatchSearch,
        *,
        most: int | None = None,
        in_pieces: bool = False,
        check: Check | None = None,
    ) -> None:
        # If the input is read in pieces, no batch may refer to one.
        self.search, self._most, self._in_pieces = search, most, in_pieces
        # Called with the bytes that results will take, if memory is limited.
        self._check = check
        self._parts: list[ResultBatch] | None = None
        # After a push it is computed on demand.
        self._last_report: Report | Callable[[], Report] | None = None
        # No cached properties: Python 3.11 uses one lock for each of them, so searches would wait
        # for each other.
        self._rows: pa.Table | None = None
        self._table: pa.Table | None = None

    @classmethod
    def of(
        cls,
        parts: Iterable[ResultBatch],
        report: Report | Callable[[], Report],
        check: Check | None = None,
    ) -> Matches:
        """Wrap matches that are already found; `report` may be computed later."""

        def known() -> Generator[ResultBatch, None, Report]:
            yield from parts
            return report if isinstance(report, Report) else report()

        matches = cls(known, check=check)
        matches._parts, matches._last_report = list(parts), report
        return matches

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return python_rows(self.to_arrow()[index])
        place = range(len(self))[index]
        return python_rows(self._between(place, place + 1).to_arrow())[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.to_batches()[1]:
            yield from python_rows(batch)

    @property
    def report(self) -> Report:
        """The report of the run; searches if necessary."""
        if self._last_report is None:
            assert self.parts
        report = self._last_report
        assert report is not None
        if not isinstance(report, Report):
            report = self._last_report = report()
        return report

    @property
    def schema(self) -> Schema:
        """The schema of the events."""
        return self.parts[0].shape.schema

    @property
    def type_name(self) -> str | None:
        """The event type of the results, if RETURN names one."""
        return self.parts[0].shape.plan.returned.type_name

    @property
    def names(self) -> list[str]:
        """The names of the positive components."""
        return self.parts[0].names

    @property
    def rows(self) -> pa.Table:
        """The input rows of all events, a column for each positive component."""
        if self._rows is None:
            if self._check is not None:
                self._check(sum(part.nbytes for part in self.parts))
            self._rows = pa.concat_tables([part.rows() for part in self.parts])
        return self._rows

    def to_arrow(self) -> pa.Table:
        """The results as a table."""
        if self._table is None:
            tables = [table for part in self.parts for table in self._tables(part)]
            # Columns of two types become the wider one.
            self._table = (
                tables[0]
                if len(tables) == 1
                else pa.concat_tables(tables, promote_options="permissive")
            )
        return self._table

    def to_pandas(self, *, flat: bool = False) -> Any:
        """The results as a data frame of pandas; events are dicts, series lists of dicts.

        If `flat`, each attribute of an event is a column, such as `a_price`.
        """
        table = flattened(self.to_arrow()) if flat else self.to_arrow()
        # In nested columns pandas would convert times to nanosecond counts.
        odd = [name for name in table.column_names if pa.types.is_nested(table[name].type)]
        plain = table.drop_columns(odd)
        if self._check is not None:
            self._check(plain.nbytes)
        try:
            frame = plain.to_pandas()
        except NOT_HELD:
            odd += [name for name in plain.column_names if not _fits_pandas(table[name])]
            frame = table.drop_columns(odd).to_pandas()
        for name in sorted(odd, key=table.column_names.index):
            values = [each for part in self._slices(table[name]) for each in python_values(part)]
            frame.insert(table.column_names.index(name), name, values)
        return frame

    def to_polars(self, *, flat: bool = False) -> Any:
        """The results as a data frame of polars, `flat` as in `to_pandas`."""
        import polars  # type: ignore[import-not-found, unused-ignore]

        return polars.from_arrow(flattened(self.to_arrow()) if flat else self.to_arrow())

    def to_duckdb(self, connection: Any, name: str | None = None, *, flat: bool = False) -> Any:
        """The results as a relation of a connection of DuckDB, `flat` as in `to_pandas`.

        With a name a new table of DuckDB has them. It is filled while the matches are found, and
        this object does not keep them.
        """
        from sase.engine.results.duckdb_table import check_connection, table_in

        check_connection(connection)
        if name is None:
            return connection.from_arrow(flattened(self.to_arrow()) if flat else self.to_arrow())
        schema, batches = self.to_batches()
        if flat:
            schema = flattened(pa.Table.from_batches([], schema)).schema
            tables = (flattened(pa.Table.from_batches([each])) for each in batches)
            batches = (batch for table in tables for batch in table.to_batches())
        return table_in(connection, name, schema, batches)

    def write(self, path: str | PathLike[str], *, safe: bool = False) -> None:
        """Write the results to a file in the format of its suffix, without keeping them.

        Until the file is complete its name ends in `.partial`. If `safe`, CSV has no text that a
        spreadsheet takes for a formula.
        """
        from sase.engine.results.sinks import FileSink

        schema, batches = self.to_batches()
        sink = FileSink(path, schema, safe=safe)
        try:
            for batch in batches:
                sink.write_batch(batch)
            sink.close()
        except BaseException:
            sink.abandon()
            raise

    def to_pylist(self) -> list[dict[str, Any]]:
        """The results as dicts; times that Python cannot represent are texts."""
        if not len(self):  # as after most pushes
            return []
        return [row for part in self._slices(self.to_arrow()) for row in python_rows(part)]

    def to_reader(self) -> pa.RecordBatchReader:
        """The results batch by batch; each is made when read, and not kept.

        If nothing was searched before, the search runs while this is read.
        """
        return pa.RecordBatchReader.from_batches(*self.to_batches())

    def to_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema of the results, and their batches."""
        parts = iter(self._parts or gathered(self._batches(self._most), PIECE))
        first = next(parts)
        schema = first.between(0, 0).table().schema
        return schema, (
            batch
            for part in chain([first], parts)
            for piece in part.pieces()
            for batch in _as(piece.table(), schema).to_batches()
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def head(self, count: int = ROWS) -> Matches:
        """The first matches."""
        return self._between(0, count)

    def first(self, count: int, watch: Callable[[int], object]) -> Matches:
        """The first matches. All are counted; `watch` gets the count so far."""
        first = list[ResultBatch]()
        for seen in self.counted(count, first):
            watch(seen)
        return Matches.of(first, self.report)

    def counted(self, count: int, first: list[ResultBatch]) -> Iterator[int]:
        """Yield the number found so far; append the first `count` matches to a list."""
        seen = 0
        for part in self._batches(self._most) if self._parts is None else self._parts:
            if seen < count:
                first.append(_materialized(part.between(0, count - seen)))
            seen += len(part)
            yield seen

    def timeline(self, key: object = None, n: int = DRAWN) -> Timeline:
        """A picture of the first `n` matches along time, for notebooks, as a page and as text.

        It shows the events of each match, those that it skipped, absences and windows. `key` is a
        value of the query's equivalence test, or a dict of column → value: only matches with such
        an event are drawn. The matches must hold their input. Those of files that are read in
        pieces, and copies, do not, which is a `PlanError`.
        """
        from sase.engine.results.timeline_events import timeline_of

        return timeline_of(self._held_parts, key, n, self.report.notes)

    def plot(
        self, value: str, *, key: object = None, n: int = MOST_PLOTTED, axes: Any = None
    ) -> Any:
        """Plot a column of numbers over time by matplotlib, with the first `n` matches shaded.

        The line has all events of the key that the matches hold, and points are those of matches.
        `key` is as in `timeline`, by default that of the first match. Returns the axes.
        """
        from sase.engine.results.plot import plot_of

        return plot_of(self._held_parts, value, key, n, axes)

    @property
    def _held_parts(self) -> list[MatchBatch]:
        """The batches, which must hold the events around their matches."""
        parts = [] if self._in_pieces else self.parts
        if not parts or not all(isinstance(part, MatchBatch) for part in parts):
            remedy = (
                "the files are read in pieces, as they are too large to be held: read some of their"
                " rows into a table, such as those of one key, and search these"
                if self._in_pieces
                else "a copy or a pickle has no input: draw them before"
            )
            raise PlanError(f"these matches do not hold the events around them: {remedy}")
        return [part for part in parts if isinstance(part, MatchBatch)]

    @property
    def is_searched(self) -> bool:
        """Whether the search is finished."""
        return self._last_report is not None

    def batches(self) -> Iterator[ResultBatch]:
        """The batches, not kept here."""
        return iter(self._parts) if self._parts is not None else self._batches(None)

    def keep(self, parts: Iterable[ResultBatch]) -> None:
        """Keep all batches, so that they are not searched again."""
        self._parts = list(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Matches.of, ([_alone(part) for part in self.parts], self.report)

    def __repr__(self) -> str:
        return as_text(self.head(ROWS).to_arrow(), len(self), self.report, self.schema.type)

    def _repr_html_(self) -> str:
        return as_html(self.head(ROWS).to_arrow(), len(self), self.report, self.schema.type)

    # ------------------------------------------------------------ the search

    @property
    def parts(self) -> list[ResultBatch]:
        """All batches, searched once."""
        if self._parts is None:
            found = self._batches(-1 if self._most is None else self._most)
            self._parts = list(map(_materialized, found) if self._in_pieces else gathered(found))
        return self._parts

    def _batches(self, most: int | None) -> Iterator[ResultBatch]:
        """Search; yield at most `most` matches, or for −1 as many as memory can hold."""
        count, held, allowed, within = 0, 0, 0, ""
        search = self.search()
        while True:
            try:
                part = next(search)
            except StopIteration as end:
                self._last_report = end.value
                return
            size = part.nbytes
            if most == -1 and held + size > LEAST // 2:
                # Half of the memory that was available at first.
                allowed = allowed or (available_memory() + held) // 2
                if held + size > allowed:
                    most = count + len(part) * (allowed - held) // size
            held += size
            if most is not None and most != -1:
                left = most - count
                if 0 < left <= len(part):
                    within = _rows_of(part.between(left - 1, left))
                if len(part) > left:
                    yield part.between(0, left)
                    raise BudgetError(_too_many(most, within, self._most is not None, part))
            count += len(part)
            yield part

    def _tables(self, part: ResultBatch) -> Iterator[pa.Table]:
        """The results of a batch, piece by piece if memory is limited.

        The size of a piece is estimated by the one before.
        """
        if self._check is None:
            yield part.table()
            return
        last = 0
        for piece in part.pieces(MOST_BYTES):
            self._check(last)
            table = piece.table()
            last = table.nbytes
            yield table

    def _slices(self, table: Any) -> Iterator[Any]:
        """Slices of a table or column, for conversion to Python."""
        if self._check is None:
            yield table
            return
        for begin in range(0, len(table), FEW):
            self._check(0)
            yield table.slice(begin, FEW)

    def _between(self, start: int, end: int) -> Matches:
        found, begin = [], 0
        for part in self.parts:
            found.append(part.between(max(start - begin, 0), max(end - begin, 0)))
            begin += len(part)
        return Matches.of(found, self.report, self._check)


def _fits_pandas(column: pa.ChunkedArray) -> bool:
    try:
        pa.table([column], ["x"]).to_pandas()
    except NOT_HELD:
        return False
    return True


def _materialized(part: ResultBatch) -> ResultBatch:
    return MaterializedBatch.of(part) if isinstance(part, MatchBatch) else part


def _alone(part: ResultBatch) -> ResultBatch:
    """The results of a batch, without other data of the run."""
    made = MaterializedBatch.of(part) if isinstance(part, MatchBatch) else part
    tables = {"made": tidied(made.made), "from_rows": tidied(made.from_rows)}
    return replace(made, shape=replace(made.shape, texts=[]), **tables)


def _as(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table if table.schema.equals(schema) else table.cast(schema)


def _rows_of(match: ResultBatch) -> str:
    """Describe the input rows of a match's first and last event."""
    (events,) = match.rows().to_pylist()
    first, *rest = _numbers(events)
    return f"is input row {first:,}" if not rest else (
        f"begins with input row {first:,} and ends with row {rest[-1]:,}"
    )  # fmt: skip


def _numbers(rows: Any) -> Iterator[int]:
    """The rows of a match, at all depths."""
    match rows:
        case int():
            yield rows
        case list() | dict():
            for each in rows.values() if isinstance(rows, dict) else rows:
                yield from _numbers(each)


def _too_many(most: int, within: str, is_asked_for: bool, part: ResultBatch) -> str:
    what = f"there are more than {most:,} matches, "
    allowed = spelled("max_matches", "--max-matches")
    what += f"which is {allowed}" if is_asked_for else "the most that memory can hold"
    if within:
        what += f"; match {most:,} {within}"
    reader = "read them one batch after the other with "
    more = f"{spelled(reader, 'allow more with ')}a greater {allowed}"
    if not is_asked_for:
        more = spelled(f"{reader}to_reader()", "write them into a file with -o FILE")
    ways = ["narrow the query", "set LIMIT", more]
    if part.shape.plan.compresses:
        ways.append(f"count and sample them without a list with {option('output', 'compressed')}")
    return f"{what}: {', '.join(ways[:-1])}, or {ways[-1]}"

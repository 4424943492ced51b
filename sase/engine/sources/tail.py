"""Follow lines of text as they are written, in a growing file or on standard input."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.input_options import Reading
from sase.binding.types import Kind
from sase.engine.columns.arrow.input import Input, Inputs, Misfits, opened
from sase.engine.columns.arrow.python_rows import UNREADABLE
from sase.engine.columns.decode.coercion import NO_UNICODE, ColumnKind, kind_of
from sase.engine.columns.decode.roles import require
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.columns.decode.time_forms import (
    TimeForm,
    in_iso,
    moments_and_forms,
    refuse_unused,
)
from sase.engine.columns.decode.timestamps import in_microseconds, with_moments
from sase.engine.sources.column_roles import may_be_times, usual_time
from sase.engine.sources.formats import format_begun, format_named, format_of_suffix
from sase.engine.sources.formats.csv import CsvFormat, no_numbers, type_of_numbers
from sase.engine.sources.formats.dialect import lines_in
from sase.engine.sources.formats.json_lines import JsonLinesFormat
from sase.engine.sources.formats.text import DecodedRow, TextFormat
from sase.engine.sources.open import USUAL, few_texts
from sase.errors import DataError

# ---------------------------------------------------------------- followed file

STANDARD_INPUT, NEWLINE = "-", b"\n"
# Seconds between polls of a file; bytes read at once.
PAUSE, SIZE = 0.1, 1 << 20


def followed_lines(path: str, pause: float, say: Callable[[str], object]) -> Iterator[bytes | None]:
    """Yield whole lines as they arrive. The end of a file ends its last line, and yields None."""
    left = b""
    is_input = path == STANDARD_INPUT
    for data in _from_standard_input() if is_input else _from_file(path, pause, say):
        if data is not None:
            whole, end, left = (left + data).rpartition(NEWLINE)
            if end:
                yield whole + end
            continue
        if left.strip():
            yield left + NEWLINE
        left = b""
        yield None
    if left.strip():
        yield left + NEWLINE


def _from_standard_input() -> Iterator[bytes]:
    if sys.stdin is None:
        raise DataError("there is no standard input")
    yield from _from_stream(sys.stdin.buffer)


def _from_stream(file: IO[bytes]) -> Iterator[bytes]:
    number = file.fileno()
    while True:
        select.select([number], [], [])
        data = os.read(number, SIZE)
        if not data:
            return
        yield data


def _from_file(path: str, pause: float, say: Callable[[str], object]) -> Iterator[bytes | None]:
    """Yield the content of a file by name, and content appended later, forever.

    None separates files of that name, and the content before and after a truncation.
    """
    with ExitStack() as held:
        try:
            file = held.enter_context(open(path, "rb"))
        except OSError as problem:
            raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            yield from _from_stream(file)
            return
        missed = None
        while True:
            other = lacks = None
            try:
                if not os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                    other = open(path, "rb")  # noqa: SIM115 - held when the one before is read
            except OSError as problem:
                lacks = problem.strerror
            # Only now, so that a renamed file is read to its end.
            yield from iter(partial(file.read, SIZE), b"")
            if other is not None:
                say(f"{path} is another file now, which is read from its beginning")
                held.close()
                file = held.enter_context(other)
                yield None
            elif os.fstat(file.fileno()).st_size < file.tell():
                say(f"{path} was truncated: it is read from its beginning")
                file.seek(0)
                yield None
            else:
                if lacks and lacks != missed:
                    say(f"{path}: {lacks}: waiting for a file of this name")
                missed = lacks
                time.sleep(pause)


# ---------------------------------------------------------------- tail

BOM = b"\xef\xbb\xbf"
# Rows without a readable time after which the stream is taken to have none.
FEW = 100
# Magic bytes of data that is not text, with its name and the remedy.
NO_LINES = {
    b"\x1f\x8b": ("compressed with gzip", "gzip -dc"),
    b"BZh": ("compressed with bzip2", "bzip2 -dc"),
    b"\x28\xb5\x2f\xfd": ("compressed with Zstandard", "zstd -dc"),
    b"PAR1": ("Parquet, which has no lines", "sase run without --follow"),
    b"ARROW1": ("Arrow, which has no lines", "sase run without --follow"),
    b"\xff\xfe": ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
}


class TailReader:
    """Reads a stream of lines in batches as they arrive; the first ones define the schema.

    A line counts once its end has arrived. Moments are parsed in the columns in which the first
    values are moments. Without a header rows may omit attributes. A value that does not fit its
    column makes the row bad if the column is read; a line that is no row is bad, too.
    """

    def __init__(
        self,
        path: str,
        *,
        judges: bool = False,
        pause: float = PAUSE,
        times: Sequence[str] = (),
        reading: Reading = USUAL,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.name = "standard input" if path == STANDARD_INPUT else path
        self._chunks, self._is_new = followed_lines(path, pause, say), False
        # Lines before the last batch; the header; the last batch.
        self._line, self._header, self._last = 0, b"", b""
        self._time: str | None = None
        # Known time columns, besides those with usual names.
        self._times = times
        self._kinds: dict[str, ColumnKind] = {}
        self._forms: dict[str, TimeForm] = {}
        self._first = self._first_lines()
        self._format = _format(path, self._first, reading)
        if self._format.has_header:
            self._take_header()
        self._infer_schema(judges)

    def _next_lines(self) -> bytes | None:
        """Return the next lines, without the header of a further file; None at the end."""
        for lines in self._chunks:
            if lines is not None:
                begins, self._is_new = self._is_new, False
                return self._without_header(lines.removeprefix(BOM)) if begins else lines
            self._line, self._is_new = 0, True
        return None

    def _without_header(self, lines: bytes) -> bytes:
        """Remove a further file's header, which must equal the first."""
        header, _, rows = lines.partition(NEWLINE)
        if not self._header or not header.strip():
            return lines
        if header.strip() == self._header.strip():
            self._line += 1
            return rows
        found = self._format.parse(header + NEWLINE, {}, skips_odd=True)
        names = [] if found is None else found.column_names
        if 2 * len(self._kinds.keys() & {*names}) >= max(len(names), 1):
            raise DataError(
                f"{self.name}, line 1: the columns are {', '.join(names)} now, and were"
                f" {_text(self._header).strip()}: follow it anew"
            )
        return lines

    def _first_lines(self) -> bytes:
        """Return the first non-empty lines."""
        while (chunk := self._next_lines()) is not None:
            if self._line == 0:
                self._refuse_no_text(chunk)
                chunk = chunk.removeprefix(BOM)
            lines = chunk.lstrip()
            self._line += chunk[: len(chunk) - len(lines)].count(NEWLINE)
            if lines:
                return lines
        raise DataError(f"{self.name} ended before there was a line")

    def _refuse_no_text(self, chunk: bytes) -> None:
        for mark, (what, way) in NO_LINES.items():
            if chunk.startswith(mark):
                raise DataError(f"{self.name} is {what}: give lines of text, made with  {way}")
        if b"\0" in chunk[: chunk.index(NEWLINE)]:
            raise DataError(f"{self.name} is no text: give lines of CSV or JSON in UTF-8")

    def _take_header(self) -> None:
        header, end, self._first = self._first.partition(NEWLINE)
        self._header = header + end
        self._line += 1
        if not is_unicode(_text(header)):
            raise DataError(f"{self.name}, line {self._line}: {NO_UNICODE}")
        while not self._first.strip() and (more := self._next_lines()) is not None:
            self._first += more

    def _infer_schema(self, judges: bool) -> None:
        """Infer the schema from the first lines, or more if none of them is a row."""
        table = self._sample(self._first)
        while self._is_too_little(table, judges):
            if not judges:
                odd = next(self._decoded(self._first))
                where = f"{self.name}, line {self.line_of(0)}"
                raise DataError(f"{where}: {odd.text.strip()}: {odd.why_in_stream or odd.why}")
            more = self._next_lines()
            if more is None and table.num_rows:
                break
            if more is None:
                raise DataError(f"{self.name} ended before there was a row")
            self._first += more
            table = self._sample(self._first)
        kinds = self._kinds_of_text(table)
        moments = {name: kind for name, kind in kinds.items() if pa.types.is_temporal(kind)}
        for field in table.schema:  # moments that Arrow found in text
            if pa.types.is_timestamp(field.type):
                moments[field.name] = in_microseconds(field.type, table.column(field.name))
        kinds |= moments
        self.schema: pa.Schema = pa.schema(
            [field.with_type(kinds.get(field.name, field.type)) for field in table.schema]
        )
        self._kinds = {
            field.name: ColumnKind(field.type, is_moments=field.name in moments)
            for field in self.schema
        }

    def _is_too_little(self, table: pa.Table, judges: bool) -> bool:
        """Whether the lines do not define the schema yet: no row, or no readable time."""
        if not table.num_rows:
            return not self._format.has_header
        time = self._times[0] if self._times else usual_time(table.column_names)
        if not judges or table.num_rows > FEW or time not in table.column_names:
            return False
        is_text = pa.types.is_string(table.schema.field(time).type)
        return is_text and time not in {*self._format.texts, *self._kinds_of_text(table)}

    def _kinds_of_text(self, table: pa.Table) -> dict[str, pa.DataType]:
        """Return the text columns with moments, and time columns with numbers.

        For times half of the values are enough: the others are bad rows.
        """
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        texts = [name for name in texts if name not in self._format.texts]
        times = [*self._times, *may_be_times(table.column_names)]
        given = self._format.reading.time_format
        found, self._forms = moments_and_forms(table.select(texts), given, times)
        refuse_unused(given, self._forms, [name for name in times if name in table.column_names])
        for name in set(texts).intersection(times).difference(found):
            kind = type_of_numbers(table.column(name)) if self._format.has_header else None
            if kind is not None:
                found[name] = kind
        return found

    def expect(self, names: Iterable[str]) -> None:
        """Add columns that the first lines lack, but later lines may have."""
        for name in names:
            self._kinds[name] = ColumnKind()
            self.schema = self.schema.append(pa.field(name, pa.null()))

    def nearly_numbers(self, named: Collection[str]) -> Iterator[str]:
        """Describe named CSV columns that a few first values turn into text."""
        if not isinstance(self._format, CsvFormat):
            return
        named = set(named) - set(self._format.asked)
        texts = [f.name for f in self.schema if pa.types.is_string(f.type) and f.name in named]
        lines = _text(self._header + self._first).encode("utf-8", "replace")
        table = self._format.parse(lines, dict.fromkeys(texts, pa.string()), skips_odd=True)
        for name in texts:
            column = table.column(name)
            if type_of_numbers(column) is not None:
                values = pc.unique(column).drop_null().to_pylist()
                yield from few_texts(name, no_numbers(values))

    def judge(self, time: str, roles: Collection[str], read: Collection[str]) -> None:
        """Set which columns are read and which have a role; bad lines go to the time column.

        A time column in which the first lines have no times is an error.
        """
        if time in self.schema.names:
            require(opened(self.schema), time, "time")
        self._time = time
        self._kinds = {
            name: kind._replace(is_read=name in read, is_fixed=name in roles)
            for name, kind in self._kinds.items()
        }

    @property
    def is_open(self) -> bool:
        """Whether rows name their columns, so that later rows may add some."""
        return not self._format.has_header

    @property
    def loose(self) -> pa.Schema:
        """The schema without integer types: floats may come later."""
        fields = []
        for field in self.schema:
            is_integer = pa.types.is_integer(field.type) and self._kinds[field.name].is_loose
            fields.append(field.with_type(pa.null()) if is_integer else field)
        return pa.schema(fields)

    def __iter__(self) -> Iterator[pa.Table | Inputs]:
        """Yield rows as they arrive."""
        if self._first.strip():
            yield self._events(self._first)
        self._line += self._first.count(NEWLINE)
        while (chunk := self._next_lines()) is not None:
            if chunk.strip():
                yield self._events(chunk)
            self._line += chunk.count(NEWLINE)

    def fault(self, problem: DataError) -> DataError:
        """Return an error in a row of the last batch with its line number."""
        if problem.row is None:
            return problem
        said = problem.message.partition(": ")[2]
        where = f"{self.name}, line {self.line_of(problem.row)}"
        return DataError(f"{where}: {said}", problem.row, problem.column, problem.value)

    def line_of(self, row: int) -> int:
        """Return the line number at which a row of the last batch ends."""
        decoded = list(self._decoded(self._last))[row]
        return self._line + decoded.line - self._format.has_header

    # ------------------------------------------------------------ lines as columns

    def _decoded(self, lines: bytes) -> Iterator[DecodedRow]:
        text = io.StringIO(_text(self._header + lines), newline=self._format.newline)
        return self._format.decode_rows(text, self._types())

    def _types(self) -> Mapping[str, pa.DataType]:
        """Return the fixed types of columns; numbers may vary without loss."""
        return {
            name: pa.string() if kind.is_moments else kind.type
            for name, kind in self._kinds.items()
            if kind.is_fixed or not kind.is_loose
        }

    def _sample(self, lines: bytes) -> pa.Table:
        """Return the lines that are rows, with inferred types."""
        self._last = lines
        try:
            text = _text(self._header + lines).encode("utf-8", "replace")
            table = self._format.parse(text, {}, skips_odd=True, where=f"{self.name}: ")
        except UNREADABLE as problem:
            raise DataError(f"{self.name}, line {self._line}: {problem}") from problem
        if table is not None:
            return table
        rows = [row.values for row in self._decoded(lines) if row.values is not None]
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {n: ColumnKind().coerce(self._values(n, rows)).array for n in names}
        return pa.table(columns) if columns else pa.table({"": pa.nulls(len(rows))}).select([])

    def _values(self, name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return the values of a column; for a possible time only those of the commonest kind."""
        values = [row.get(name) for row in rows]
        if name not in self._times and not may_be_times([name]):
            return values
        kinds = [Kind.FLOAT if kind is Kind.INTEGER else kind for kind in map(kind_of, values)]
        counts = Counter(filter(None, kinds))
        most = max(counts, key=counts.__getitem__, default=None)
        return [v if kind is most else None for v, kind in zip(values, kinds, strict=True)]

    def _events(self, lines: bytes) -> pa.Table | Inputs:
        """Return all lines as events, with values that do not fit kept aside."""
        self._last = lines
        table = self._parsed(lines)
        if table is not None:
            self._fix_types(table)
            return table
        rows = list(self._decoded(lines))
        columns = {name: [(row.values or {}).get(name) for row in rows] for name in self._kinds}
        arrays: dict[str, pa.Array] = {}
        misfits: dict[str, Misfits] = {}
        for name, values in columns.items():
            arrays[name], misfits[name] = self._kinds[name].coerce(self._in_iso(name, values))
        odd = {number: row for number, row in enumerate(rows) if row.values is None}
        if odd and self._time is not None:
            for number, row in odd.items():
                columns[self._time][number] = row.text.strip()
            by_reason: dict[str, list[int]] = {}
            for number, row in odd.items():
                by_reason.setdefault(row.why_in_stream or row.why, []).append(number)
            bad_lines = ((why, np.array(at, np.int64)) for why, at in by_reason.items())
            misfits[self._time] = (*bad_lines, *misfits[self._time])
        table = pa.table(arrays)
        self._fix_types(table)
        bad = {name: found for name, found in misfits.items() if found}
        if not bad:
            return table
        texts = {name: [_escaped(value) for value in columns[name]] for name in bad}
        batch = table.combine_chunks().to_batches()[0]
        return Inputs((Input(batch, misfits=bad, texts=texts),))

    def _in_iso(self, name: str, values: list[Any]) -> list[Any]:
        """Rewrite the texts of a column with times in another form."""
        form = self._forms.get(name)
        if form is None:
            return values
        iso_of = form.iso_of(values)
        return [iso_of.get(value, value) if isinstance(value, str) else value for value in values]

    def _fix_types(self, table: pa.Table) -> None:
        """Remember the types of columns that had none."""
        for field in table.schema:
            kind = self._kinds[field.name]
            if pa.types.is_null(kind.type) or kind.is_open:
                self._kinds[field.name] = kind._replace(type=field.type)

    def _parsed(self, lines: bytes) -> pa.Table | None:
        """Parse lines by Arrow, or return None if any is not valid."""
        with suppress(*UNREADABLE, DataError):
            table = self._format.parse(self._header + lines, self._types())
            if table is None:
                return None
            moments = {name: kind.type for name, kind in self._kinds.items() if kind.is_moments}
            table = with_moments(in_iso(table, self._forms), moments, self.name)
            if any(pa.types.is_binary(field.type) for field in table.schema):
                return None  # Arrow's type for text that is not UTF-8
            if all(self._kinds[field.name].takes(field.type) for field in table.schema):
                return table
        return None


def _format(path: str, first: bytes, reading: Reading) -> TextFormat:
    """Return the format of lines: by its name or suffix, by a brace, or CSV."""
    if reading.encoding is not None:
        raise DataError(
            f"encoding={reading.encoding!r}: lines that are followed are UTF-8: convert them, as in"
            f"  tail -f … | iconv -f {reading.encoding} | sase run --events - --follow …"
        )
    suffix = os.path.splitext(path)[1].lower()
    named = format_named(reading.input_format) or format_of_suffix(suffix)
    named = named or format_begun(_text(first))
    if isinstance(named, TextFormat) and not named.has_lines:
        raise DataError(f"{path}: files of {named.name} have no lines that could be followed")
    is_free = not isinstance(named, TextFormat) or isinstance(named, CsvFormat | JsonLinesFormat)
    if is_free and first.startswith(b"{"):
        named = JsonLinesFormat()
    found = (named if isinstance(named, TextFormat) else CsvFormat()).with_reading(reading)
    if isinstance(found, CsvFormat):
        return found.found_among(lines_in(_text(first)))
    assert isinstance(found, TextFormat)
    return found


def _text(data: bytes) -> str:
    """Decode UTF-8; other bytes become surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _escaped(value: Any) -> Any:
    """Replace the surrogates in a value by escaped bytes."""
    if not isinstance(value, str) or is_unicode(value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a surrogate escaped in JSON
        return value.encode("utf-8", "backslashreplace").decode()

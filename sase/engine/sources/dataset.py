"""Files as one table; its columns are known before any row is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sase.engine.columns.arrow.data_types import value_type
from sase.engine.columns.arrow.input import FilePart
from sase.engine.columns.decode.time_forms import TimeForm, in_iso, moments_and_forms
from sase.engine.columns.decode.timestamps import in_microseconds, with_moments
from sase.engine.resources import Check, no_check
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.file_systems import Stamp
from sase.engine.sources.formats.base import (
    BATCH,
    DAMAGE,
    DICTIONARY,
    FileFormat,
    Kinds,
    Scan,
    folder_columns,
    great_floats,
    is_string,
)
from sase.engine.sources.pruning import PruningPredicate
from sase.errors import DataError, SchemaError, TimeLimitError

# Up to this size columns are read as a whole; larger ones in pieces.
MOST_HELD = 1 << 30


@dataclass(eq=False)
class Files:
    """Files of one format, and their columns.

    `schema` has the files' columns, then those from folder names such as `day=1/`. Columns in
    `moments` are text that can be parsed; it is parsed if a query names them. Columns in
    `conflicts` have types in different files that cannot be unified, so no query may name them.
    """

    paths: tuple[str, ...]
    format: FileFormat
    stamps: tuple[Stamp, ...]
    # The given folder; folder names below it give columns.
    base: str | None = None
    # The column that the caller names as the time, or None.
    time: str | None = None
    conflicts: Mapping[str, SchemaError] = field(default_factory=dict)
    schema: pa.Schema = None
    dataset: Any = None
    moments: Kinds = field(default_factory=dict)
    # The forms of moments that are not in ISO 8601.
    forms: dict[str, TimeForm] = field(default_factory=dict)
    # The columns that type inference has read of each file, for later use.
    kept: tuple[pa.Table, ...] | None = None
    # Called between batches; and the most bytes held in memory.
    between: Check = no_check
    most: int = MOST_HELD

    @property
    def is_text(self) -> bool:
        """Whether the types of columns are inferred from values."""
        return self.format.is_text

    @property
    def given(self) -> Collection[str]:
        """The columns from folder names."""
        return folder_columns(self.paths, self.base)

    def values_given(self) -> Iterator[dict[str, Any]]:
        """Yield for each file the values from its folder names."""
        from pyarrow import dataset  # slow; not needed for tables

        for _, fragment in self._fragments():
            yield dataset.get_partition_keys(fragment.partition_expression)

    def check(self, named: Iterable[str | None]) -> None:
        """Refuse names of columns in `conflicts`."""
        for name in named:
            if name is not None and name in self.conflicts:
                raise self.conflicts[name]

    def describe(self, schema: pa.Schema) -> None:
        """Set the files' schema: strings become dictionaries, moments are found.

        Columns in `conflicts` are plain text. Moments from text have microseconds, whether or not
        the first values have fractions.
        """
        if self.is_text:
            schema = pa.schema([each.with_type(in_microseconds(each.type)) for each in schema])
        given = {*self.given, *self.conflicts}
        is_text = is_string if self.format.has_dictionaries else pa.types.is_string
        texts = [each.name for each in schema if is_text(each.type) and each.name not in given]
        strings = texts if self.format.has_dictionaries else []
        readable = pa.schema([f.with_type(DICTIONARY) if f.name in strings else f for f in schema])
        self.dataset = self.format.dataset(self.paths, self.base, readable, strings)
        may_be_moments = [name for name in texts if name not in self.format.texts]
        self.moments, self.kept = self._moments_among(may_be_moments), None
        self.schema = pa.schema(
            [each.with_type(self.moments.get(each.name, each.type)) for each in self.dataset.schema]
        )

    def _moments_among(self, texts: Sequence[str]) -> Kinds:
        """Return the string columns in which the first values are moments.

        A column with unsound memory is skipped; reading it raises the error.
        """
        if not texts:
            return {}
        try:
            sample = self.format.sample(self.paths, self.dataset, texts)
            times = may_be_times(self.dataset.schema.names, self.time)
            form = self.format.reading.time_format
            moments, self.forms = moments_and_forms(sample, form, times)
            return moments
        except DataError as problem:
            if problem.column not in texts:
                raise
            return self._moments_among([name for name in texts if name != problem.column])
        except DAMAGE as problem:
            schema = self.dataset.schema
            raise self.format.explain_fault(self.paths[0], schema, problem) from problem

    def retype(self, kinds: Mapping[str, pa.DataType]) -> None:
        """Change the types of columns that differ from their first values; add new columns."""
        if not kinds:
            return
        schema = pa.schema([f.with_type(value_type(f.type)) for f in self.dataset.schema])
        for name, kind in kinds.items():
            index = schema.get_field_index(name)
            if index < 0:
                schema = schema.insert(len(schema) - len(self.given), pa.field(name, kind))
            else:
                schema = schema.set(index, pa.field(name, kind))
        self.describe(schema)

    def keep(self, names: Sequence[str], most: int, *, is_whole: bool = False) -> None:
        """Read columns to verify their types; keep them if they take at most `most` bytes.

        If the schema `is_whole`, further JSON columns are an error.
        """
        is_kept, tables = self.weight(names) <= most, list[pa.Table]()
        for path, fragment in self._fragments():
            scan = self._scan(path, fragment, names)._replace(is_whole=is_whole)
            with self._watched(path, names):
                if is_kept:
                    tables += self._exact(path, [self.format.read_all(scan)])
                else:
                    for _ in self._exact(path, self.format.read(scan)):
                        pass
        self.kept = tuple(tables) if is_kept else None

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(size for size, _ in self.stamps)

    def rows(self) -> int | None:
        """Return the number of rows, or None if only reading would tell."""
        with self.format.watched(self.paths[0]):
            return self.format.count_rows(self.dataset)

    def weight(self, names: Sequence[str], predicate: PruningPredicate | None = None) -> int:
        """Estimate the bytes of columns in memory, of the rows that a predicate leaves."""
        rows = self.rows()
        if rows is None:
            return 2 * self.size
        if predicate is not None:
            rows -= self._skipped(predicate)
        return rows * sum(16 if pa.types.is_string(self.schema.field(n).type) else 8 for n in names)

    def _skipped(self, predicate: PruningPredicate) -> int:
        """Count the rows that need not be read."""
        found = 0
        for path, fragment in self._fragments():
            with self._watched(path, ()):
                parts = self._parts(path, fragment, predicate)
                found += sum(rows for piece, rows in parts if piece is None)
        return found

    def table(
        self,
        names: Iterable[str],
        named: Collection[str] | None = None,
        predicate: PruningPredicate | None = None,
    ) -> tuple[pa.Table, tuple[FilePart, ...]]:
        """Read columns of all files; return them with the file parts that they come from.

        Moments are parsed in `named` columns. The predicate prunes row groups.
        """
        columns = list(names)
        tables, parts, number = [self.empty(columns, named)], list[FilePart](), 0
        for at, (path, fragment) in enumerate(self._fragments()):
            first = 0
            with self._watched(path, columns):
                for piece, rows in self._parts(path, fragment, predicate):
                    if piece is not None:
                        read = self._kept(at, columns)
                        if read is None:
                            scan = self._scan(path, piece, columns)._replace(first=first)
                            (read,) = self._exact(path, [self.format.read_all(scan)])
                        rows = read.num_rows
                        tables.append(self._parsed(read, path, named, first))
                        parts.append(FilePart(path, rows, first, number))
                    first, number = first + rows, number + rows
        return pa.concat_tables(tables), tuple(parts)

    def _scan(self, path: str, fragment: Any, columns: Sequence[str]) -> Scan:
        schema, is_limited = self.dataset.schema, self.most < MOST_HELD
        return Scan(
            path, fragment, schema, columns, between=self.between, reads_ahead=not is_limited
        )

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        return zip(self.paths, self.dataset.get_fragments(), strict=True)

    def _kept(self, at: int, columns: list[str]) -> pa.Table | None:
        """Return columns of a file that were read before, or None."""
        if self.kept is None or not set(columns) <= set(self.kept[at].column_names):
            return None
        return self.kept[at].select(columns)

    def _parts(
        self, path: str, fragment: Any, predicate: PruningPredicate | None
    ) -> Iterator[tuple[Any, int]]:
        """Yield the parts of a file to read, and None with the number of rows of one to skip."""
        if predicate is None:
            return iter([(fragment, 0)])
        return self.format.parts(path, fragment, predicate)

    def batches(
        self, names: Iterable[str], named: Collection[str] | None = None, *, size: int = BATCH
    ) -> Iterator[tuple[FilePart, pa.Table]]:
        """Read columns of all files piece by piece."""
        columns = list(names)
        for path, fragment in self._fragments():
            first, scan = 0, self._scan(path, fragment, columns)
            with self._watched(path, columns):
                for table in self._exact(path, self.format.read(scan, size)):
                    if table.num_rows:
                        yield (
                            FilePart(path, table.num_rows, first),
                            self._parsed(table, path, named, first),
                        )
                        first += table.num_rows

    def _exact(self, path: str, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield the tables of a file; refuse integers in text that a float column would round."""
        checked = set[str]()
        for table in tables:
            for name in great_floats(table) if self.is_text else ():
                if name not in checked:
                    self.format.check_floats(path, name)
                    checked.add(name)
            yield table

    @contextmanager
    def _watched(self, path: str, columns: Collection[str]) -> Iterator[None]:
        """Convert Arrow's exceptions to ours; raise one if the file has changed."""
        try:
            yield
        except TimeLimitError:  # also an OSError
            raise
        except DAMAGE as problem:
            self._check_unchanged(path, problem)
            raise self.format.explain_fault(path, self.schema, problem, columns) from problem
        except DataError as problem:
            self._check_unchanged(path, problem)
            raise
        self._check_unchanged(path)

    def _check_unchanged(self, path: str, problem: Exception | None = None) -> None:
        """Refuse a file that changed while it was read, before any other error."""
        if self.format.stamp(path) != self.stamps[self.paths.index(path)]:
            raise DataError(f"{path} was changed while it was read: run it again") from problem

    def empty(self, names: Iterable[str], named: Collection[str] | None = None) -> pa.Table:
        """Return columns without rows."""
        table = pa.Table.from_batches([], self.dataset.schema).select(list(names))
        return self._parsed(table, self.paths[0], named)

    def _parsed(
        self, table: pa.Table, path: str, named: Collection[str] | None, first: int = 0
    ) -> pa.Table:
        wanted = {n: kind for n, kind in self.moments.items() if named is None or n in named}
        forms = {name: form for name, form in self.forms.items() if name in wanted}
        return with_moments(in_iso(table, forms), wanted, path, first)

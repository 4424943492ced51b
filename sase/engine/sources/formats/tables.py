"""Tables of many files with a log: Delta Lake and Iceberg, read by their own libraries.

The log names the files of a version, and has bounds of their columns. The files are Parquet; some
of their rows may be deleted, and columns may have been added or renamed after they were written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import pyarrow as pa

from sase.engine.sources.file_systems import Stamp
from sase.engine.sources.formats.base import FileFormat
from sase.engine.sources.formats.parquet import ParquetFormat, cannot_be_bad
from sase.engine.sources.pruning import ColumnBounds, PruningPredicate
from sase.errors import DataError


class TableFile(NamedTuple):
    """A file of a table: its rows that are not deleted, and the bounds of its columns."""

    path: str
    rows: int | None
    bounds: Mapping[str, ColumnBounds]
    size: int
    # The entry of the log, for the library.
    entry: Any = None


class TableDataset(NamedTuple):
    """The files of a table in place of a dataset of Arrow."""

    schema: pa.Schema
    fragments: list[Any]

    def get_fragments(self) -> list[Any]:
        """A fragment for each file; None for a table without any."""
        return self.fragments


class TableFormat(ParquetFormat):
    """A version of a table; a format is made for each table that is opened."""

    title = ""
    # The name of the product.
    of: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()  # type: ignore[assignment]
    has_dictionaries = False
    options: ClassVar[Collection[str]] = (*FileFormat.options, "table_version")
    folder = ""
    schema: pa.Schema = None
    files: Mapping[str, TableFile] = {}

    def opened(self, folder: str, version: int | None) -> Self:
        """Return the format with the files of a version of a table; None is the last version."""
        found = copy(self)
        found.folder = folder
        try:
            found.load(version)
        except ImportError as problem:
            raise DataError(
                f"{folder}: a table of {self.of} is read by the library of its extra: install it,"
                f" as with  pip install 'sase[{self.name}]'"
            ) from problem
        except DataError:
            raise
        except Exception as problem:  # libraries have errors of several kinds
            line = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise DataError(
                f"{folder}: {self.unreadable(version)} cannot be read: {line}:"
                f" {self.remedy(version)}"
            ) from problem
        return found

    @abstractmethod
    def load(self, version: int | None) -> None:
        """Take the columns and files of a version from the log."""

    @abstractmethod
    def unreadable(self, version: int | None) -> str:
        """Name the part of a table that a library cannot read, for messages."""

    @abstractmethod
    def remedy(self, version: int | None) -> str:
        """Say how to make it readable."""

    @abstractmethod
    def fragment(self, file: TableFile, strings: Collection[str]) -> Any:
        """Return a file as its library reads it, with some columns as dictionaries."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files; the folder in place of none."""
        return tuple(self.files) or (self.folder,)

    def is_begun(self, first: str) -> bool:
        """A table is a folder, which begins with nothing."""
        return False

    def stamp(self, path: str) -> Stamp:
        """The size of a file alone, because files of tables are never changed."""
        return (self.files[path].size, 0) if path in self.files else (1, 0)

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of the table."""
        return self.schema

    def dataset(
        self,
        paths: Sequence[str],
        base: str | None,
        schema: pa.Schema | None,
        strings: Collection[str] = (),
    ) -> Any:
        """Return the files of the table."""
        fragments = [self.fragment(self.files[path], strings) for path in paths if self.files]
        return TableDataset(self.schema if schema is None else schema, fragments or [None])

    def only(self, files: Any, number: int) -> Any:
        """Return one of the files of a table."""
        return files._replace(fragments=[files.fragments[number]])

    def count_rows(self, dataset: Any) -> int | None:
        """Return the number of rows, if the log has it."""
        counts = [file.rows for file in self.files.values()]
        return None if None in counts else sum(count for count in counts if count is not None)

    def parts(
        self, path: str, fragment: Any, predicate: PruningPredicate
    ) -> Iterator[tuple[Any, int]]:
        """Skip a file by the bounds of the log."""
        file = self.files.get(path)
        is_skipped = (
            file is not None
            and file.rows is not None
            and cannot_be_bad(self.schema, predicate)
            and not predicate.may_match(file.bounds)
        )
        yield (None, file.rows or 0) if is_skipped and file is not None else (fragment, 0)

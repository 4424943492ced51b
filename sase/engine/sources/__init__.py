"""Read events from files of any listed format: a file, a folder, or a pattern."""

from sase.engine.sources.column_roles import TIME_NAMES, TYPE_NAMES, Names, names_found
from sase.engine.sources.dataset import MOST_HELD, Files
from sase.engine.sources.discover import is_path
from sase.engine.sources.open import open_files, open_tables

__all__ = [
    "MOST_HELD",
    "TIME_NAMES",
    "TYPE_NAMES",
    "Files",
    "Names",
    "is_path",
    "names_found",
    "open_files",
    "open_tables",
]

"""Events in files: Parquet, CSV, JSON lines and Arrow; one, a folder of them, or a pattern."""

from sase.engine.files.finding import is_path
from sase.engine.files.names import TIME_NAMES, TYPE_NAMES, Names, names_found
from sase.engine.files.opening import open_files
from sase.engine.files.reading import MOST_HELD, Files

__all__ = [
    "MOST_HELD",
    "TIME_NAMES",
    "TYPE_NAMES",
    "Files",
    "Names",
    "is_path",
    "names_found",
    "open_files",
]

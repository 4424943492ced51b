"""The formats of event files: to add one, write its module and list it here."""

from sase.engine.sources.formats.arrow import ArrowFormat
from sase.engine.sources.formats.base import FileFormat
from sase.engine.sources.formats.csv import CsvFormat, TsvFormat
from sase.engine.sources.formats.json_lines import JsonLinesFormat
from sase.engine.sources.formats.parquet import ParquetFormat

# In the order of messages.
FORMATS: tuple[FileFormat, ...] = (
    ParquetFormat(),
    CsvFormat(),
    TsvFormat(),
    JsonLinesFormat(),
    ArrowFormat(),
)


def format_of_suffix(suffix: str) -> FileFormat | None:
    """Return the format of a file name's suffix, or None."""
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def titles() -> str:
    """Return the names of all formats, for messages."""
    *most, last = [each.title for each in FORMATS if each.title]
    return f"{', '.join(most)} or {last}"

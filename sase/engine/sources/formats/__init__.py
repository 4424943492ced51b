"""The formats of event files: to add one, write its module and list it here."""

from sase.base.interface import option
from sase.base.texts import did_you_mean
from sase.engine.sources.formats.arrow import ArrowFormat
from sase.engine.sources.formats.base import FileFormat
from sase.engine.sources.formats.csv import CsvFormat, TsvFormat
from sase.engine.sources.formats.delta import DeltaFormat
from sase.engine.sources.formats.iceberg import IcebergFormat
from sase.engine.sources.formats.json_lines import JsonLinesFormat
from sase.engine.sources.formats.logs import AccessLogFormat, SyslogFormat
from sase.engine.sources.formats.parquet import ParquetFormat
from sase.engine.sources.formats.xes import XesFormat
from sase.engine.sources.formats.xlsx import XlsxFormat
from sase.errors import SchemaError

# In the order of messages.
FORMATS: tuple[FileFormat, ...] = (
    ParquetFormat(),
    CsvFormat(),
    TsvFormat(),
    JsonLinesFormat(),
    ArrowFormat(),
    XesFormat(),
    XlsxFormat(),
    AccessLogFormat(),
    SyslogFormat(),
    DeltaFormat(),
    IcebergFormat(),
)


def format_of_suffix(suffix: str) -> FileFormat | None:
    """Return the format of a file name's suffix, or None."""
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def format_named(name: str | None) -> FileFormat | None:
    """Return the format of a name that the caller gives; None for none."""
    if name is None:
        return None
    known = {each.name: each for each in FORMATS}
    if name not in known:
        hint = did_you_mean(name, known) or (f"there are {', '.join(known)}",)
        raise SchemaError(f"{option('input_format', name)}: there is no such format: {hint[0]}")
    return known[name]


def format_begun(first: str) -> FileFormat | None:
    """Return the format that the first text of a file shows, or None."""
    # Lines of other formats may have columns, too.
    return next((each for each in reversed(FORMATS) if each.is_begun(first)), None)


def titles() -> str:
    """Return the names of all formats, for messages."""
    *most, last = [each.title for each in FORMATS if each.title]
    return f"{', '.join(most)} or {last}"

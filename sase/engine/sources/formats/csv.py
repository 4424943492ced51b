"""The types of columns of CSV by all of their values, where the first ones were not enough.

Arrow finds out types by the first block of a file. A column that turns out to hold other values is
read again as one type after the other, as Arrow itself does within a block.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from sase.engine.sources.formats.base import csv_options, is_text, says

_MOST_HEADER = 1 << 20
_SAMPLED = 1 << 16
# In the order in which Arrow tries them.
_KINDS = (
    pa.null(),
    pa.int64(),
    pa.bool_(),
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("s"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
    pa.float64(),
)
NUMBERS = (pa.int64(), pa.float64())


def type_of_column(
    paths: Sequence[str], format: str, name: str, kinds: Sequence[pa.DataType] = _KINDS
) -> pa.DataType:
    """The first of the types that every value of a column has; text is what every value is."""
    having = [path for path in paths if name in header_of(path, format)]
    for kind in kinds:
        if all(_has_type(path, format, name, kind) for path in having):
            return kind
    return pa.string()


def number_type(paths: Sequence[str], format: str, name: str) -> pa.DataType | None:
    """The type of the numbers in a column of text, if most of its different values are some."""
    having = [path for path in paths if name in header_of(path, format)]
    # Most columns of text are none of numbers, which their first values tell.
    for path in having[:1]:
        lines = table_of_good_lines(path, format, {name: pa.string()}, most=_SAMPLED)
        first = lines.column(name)
        if first.null_count < len(first) and _number_type(first) is None:
            return None
    texts = [_texts_of_column(path, format, name) for path in having]
    return _number_type(pa.chunked_array([c for each in texts for c in each.chunks], pa.string()))


def _number_type(texts: pa.ChunkedArray) -> pa.DataType | None:
    values = pc.unique(texts).drop_null().to_pylist()
    integers, floats = (sum(says(value, kind) for value in values) for kind in NUMBERS)
    if not values or 2 * floats < len(values):
        return None
    return NUMBERS[0] if integers == floats else NUMBERS[1]


def _texts_of_column(path: str, format: str, name: str) -> pa.ChunkedArray:
    """The values of a column as they are written, without those that cannot be read."""
    from pyarrow import csv as arrow_csv

    kinds = {name: pa.string()}
    try:
        return arrow_csv.read_csv(path, **csv_options(format, kinds, [name])).column(0)
    except pa.ArrowException:
        return table_of_good_lines(path, format, kinds).column(name)


# ---------------------------------------------------------------- line by line


def header_of(path: str, format: str) -> list[str]:
    """The names in the first line of a file."""
    with pa.input_stream(path) as file:
        text = text_of(file.read(_MOST_HEADER))
    return next((values for _, values in records(text, format)), [])


def records(text: str, format: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of CSV as they are written, several where values have ends of lines; and values."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            taken.append(line)
            yield line

    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a quote may never be closed
    for values in csv.reader(lines(), delimiter="\t" if format == "tsv" else ","):
        raw = "".join(taken)
        taken.clear()
        yield raw, values


def text_of(data: bytes) -> str:
    """What bytes say in UTF-8; those that say nothing stay what they are."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def table_of_good_lines(
    path: str, format: str, kinds: Mapping[str, pa.DataType] = MappingProxyType({}), most: int = -1
) -> pa.Table:
    """The lines that are rows of text, of a file or its beginning, as Arrow reads them alone."""
    from pyarrow import csv as arrow_csv

    with pa.input_stream(path) as file:
        data = file.read() if most < 0 else file.read(most).rpartition(b"\n")[0]
    good: list[str] = []
    count = 0
    for raw, values in records(text_of(data), format):
        count = count or len(values)
        if len(values) == count and is_text(raw):
            good.append(raw)
    source = pa.BufferReader("".join(good).encode())
    return arrow_csv.read_csv(source, **csv_options(format, kinds))


def _has_type(path: str, format: str, name: str, kind: pa.DataType) -> bool:
    from pyarrow import csv as arrow_csv

    options = csv_options(format, {name: kind}, [name])
    try:
        with pa.input_stream(path) as file:
            for _ in arrow_csv.open_csv(file, **options):
                pass
    except pa.ArrowException:
        return False
    return True

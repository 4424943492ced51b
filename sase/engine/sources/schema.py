"""What the columns of files are, and how Arrow is to read them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.errors import fault_of
from sase.engine.sources.formats.base import TEXTS, as_read, reader
from sase.engine.sources.formats.csv import table_of_good_lines
from sase.engine.sources.formats.json_lines import sample_of_lines, tables_of_json
from sase.engine.sources.timestamps import moments_among

# What is looked at to find out what strings hold.
SAMPLE = 1000
SAMPLED_BYTES = 1 << 20


def described(
    paths: tuple[str, ...],
    format: str,
    base: str | None,
    schema: pa.Schema,
    time: str | None,
    conflicts: Collection[str] = (),
) -> tuple[Any, dict[str, pa.DataType], pa.Schema]:
    """The dataset of files with these columns, the moments in them, and what they are shown as.

    Of columns in `conflicts` the values are shown as plain text.
    """
    given = {*given_by_folders(paths, base), *conflicts}
    readable, strings = as_read(format, schema, given)
    dataset = dataset_of(paths, reader(format, strings), base, readable)
    texts = [name for name in _strings(readable) if name not in given]
    times = may_be_times(schema.names, time)
    moments = _moments(dataset, strings or texts, times, paths, format)
    fields = [field.with_type(moments.get(field.name, field.type)) for field in dataset.schema]
    return dataset, moments, pa.schema(fields)


def given_by_folders(paths: tuple[str, ...], base: str | None) -> dict[str, pa.DataType]:
    """The columns that the names of folders give, such as `day=1`, as Arrow takes them."""
    if base is None:
        return {}
    within = (os.path.relpath(path, base).split(os.sep)[:-1] for path in paths)
    named = [part.partition("=") for parts in within for part in parts if "=" in part]
    numbers = {name: True for name, _, _ in named}
    for name, _, value in named:
        numbers[name] &= value.isdecimal()
    return {name: pa.int32() if is_one else pa.string() for name, is_one in numbers.items()}


def dataset_of(
    paths: tuple[str, ...], format: Any, base: str | None, schema: pa.Schema | None
) -> Any:
    """Files as Arrow reads them; the columns are those of the first if they are not said."""
    from pyarrow import dataset  # which takes long, and who has tables needs none

    folders = None if base is None else dataset.partitioning(flavor="hive")
    return dataset.dataset(
        list(paths), schema, format, partitioning=folders, partition_base_dir=base
    )


def _strings(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_string(field.type)]


def _moments(
    dataset: Any, names: Sequence[str], times: Sequence[str], paths: Sequence[str], format: str
) -> dict[str, pa.DataType]:
    """The columns of strings that hold moments, by their first values."""
    try:
        return moments_among(_head(dataset, names, paths, format), times) if names else {}
    except OSError as problem:
        raise fault_of(paths[0], format, dataset.schema, problem) from problem
    except pa.ArrowException as problem:
        if format not in TEXTS:
            raise fault_of(paths[0], format, dataset.schema, problem) from problem
    # What is wrong with other lines or columns says nothing of these.
    if format == "json":
        return moments_among(sample_of_lines(paths, names, SAMPLE), times)
    texts = dict.fromkeys(names, pa.string())
    table = table_of_good_lines(paths[0], format, texts, most=SAMPLED_BYTES)
    having = [name for name in names if name in table.column_names]
    return moments_among(table.select(having).slice(0, SAMPLE), times)


def _head(dataset: Any, names: Sequence[str], paths: Sequence[str], format: str) -> pa.Table:
    """The first rows of files."""
    if format != "json":
        return dataset.head(SAMPLE, columns=list(names))
    schema = dataset.schema
    tables = [pa.schema([schema.field(name) for name in names]).empty_table()]
    for path, fragment in zip(paths, dataset.get_fragments(), strict=True):
        tables += islice(json_tables(path, fragment, schema, names), 1)
        if sum(table.num_rows for table in tables) >= SAMPLE:
            break
    return pa.concat_tables(tables).slice(0, SAMPLE)


def json_tables(
    path: str, fragment: Any, schema: pa.Schema, names: Sequence[str], *, is_whole: bool = False
) -> Iterator[pa.Table]:
    """Some columns of a file of JSON, also those that folders give."""
    from pyarrow import dataset  # which takes long, and who has tables needs none

    given = dataset.get_partition_keys(fragment.partition_expression)
    return tables_of_json(path, schema, names, given, is_whole=is_whole)

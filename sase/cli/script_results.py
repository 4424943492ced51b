"""Results of the statements of a script: a file for each in a folder, or lines with its name."""

from __future__ import annotations

import io
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from sase.cli.output_files import Target, check_target, check_unread
from sase.cli.queries import ArgumentError

SHOWN = 20
SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl"}


def check_form_of_all(arguments: Namespace) -> None:
    """Refuse a form that statements with columns of their own cannot share."""
    if arguments.format == "csv" and arguments.out is None:
        raise ArgumentError(
            "--format csv: the statements of a script have columns of their own: write a file for"
            " each with  -o FOLDER  , or give  --format jsonl"
        )


def statement_files(
    names: Iterable[str], arguments: Namespace, inputs: Iterable[Namespace]
) -> dict[str, str]:
    """The file of each statement in the folder that is to be written, which is made."""
    if arguments.out is None:
        return {}
    folder, suffix = arguments.out, SUFFIXES.get(arguments.format, ".parquet")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ArgumentError(
            f"-o {folder}: a script writes a file for each statement: name a folder"
        )
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, f"{quote(name, safe=' ')}{suffix}") for name in names}
    for path in paths.values():
        check_target(Target("-o", path))
        for each in inputs:
            check_unread(Target("-o", path), each)
    return paths


def write_lines(name: str, schema: Any, batches: Iterable[Any]) -> None:
    """Write matches as lines of JSON on standard output, each with the name of its statement."""
    from sase.engine.results.sinks import text_writer

    lines = io.BytesIO()
    writer = text_writer("jsonl", lines, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    begin = f'{{"query": {json.dumps(name, ensure_ascii=False)}, '.encode()
    for line in lines.getvalue().splitlines(keepends=True):
        sys.stdout.buffer.write(begin + line.removeprefix(b"{").lstrip())
    sys.stdout.flush()

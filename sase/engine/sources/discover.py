"""Find the files of a path."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeGuard

from sase.base.files import is_unicode
from sase.base.interface import option
from sase.base.texts import did_you_mean
from sase.engine.sources.file_systems import (
    HTTP,
    below,
    entry,
    is_remote,
    matched,
    missing,
    plain_name,
    scheme_of,
)
from sase.engine.sources.formats import format_begun, format_named, format_of_suffix, titles
from sase.engine.sources.formats.base import FileFormat
from sase.engine.sources.formats.delta import DeltaFormat
from sase.engine.sources.formats.iceberg import METADATA, IcebergFormat
from sase.engine.sources.formats.opening import COMPRESSIONS, beginning, member_suffix
from sase.engine.sources.formats.tables import TableFormat
from sase.errors import DataError

_QUERY = re.compile(r"\s*(?:EVENT|PATTERN|FROM|CREATE\s+STREAM)\s", re.IGNORECASE)


class FoundFiles(NamedTuple):
    """Files of one format, in reading order.

    Folder names below `base`, such as `day=1/`, may be columns.
    """

    paths: tuple[str, ...]
    format: FileFormat
    base: str | None


def is_path(events: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether events are given as a path."""
    return isinstance(events, str | os.PathLike)


def find_files(
    path: str | os.PathLike[str], input_format: str | None = None, version: int | None = None
) -> FoundFiles:
    """Return the files of a path: the file, those in a folder and below, or a pattern's matches.

    Files of a folder without a format in their names are left out if others say one. The files of a
    table are those of a version, or the last one.
    """
    name, named = os.fspath(path), format_named(input_format)
    is_table = named is None or isinstance(named, TableFormat)
    table = table_in(name) if is_table and (_is_folder(name) or name.endswith(METADATA)) else None
    if isinstance(named, TableFormat) and (table is None or table.name != named.name):
        raise DataError(f"{name}: this is no table of {named.name}: name the folder of one")
    if table is not None:
        opened = table.opened(name.rstrip("/"), version)
        return FoundFiles(opened.paths, opened, None)
    base: str | None
    is_folder = os.path.isdir(name)
    if is_remote(name):
        found, is_folder = _elsewhere(name)
        base = (_base(name) or name) if is_folder else _base(name.rpartition("/")[0])
    elif is_folder:
        found, base = _below(name), _base(name) or name
    elif os.path.exists(name):
        _check_is_file(name)
        found, base = [name], _base(os.path.dirname(name))
    else:
        found, base = _matched(name), _base(os.path.dirname(name))
    if not found:
        raise DataError(f"{name}: there are no files of events in this folder: {titles()}")
    for each in found:
        if not is_unicode(each):
            raise DataError(f"{each}: Arrow opens no file with a name that is not UTF-8: rename it")
    known = [each for each in found if named_format(each) is not None]
    if known and named is None and is_folder:
        found = known
    formats = {named or format_of(each): each for each in reversed(found)}
    if named is None and any(each.name == "parquet" for each in formats):
        _refuse_parts_of_tables(found)
    if len(formats) > 1:
        examples = " and ".join(sorted(formats.values()))
        raise DataError(f"{name}: all files must have one format, and there are {examples}")
    return FoundFiles(tuple(found), next(iter(formats)), base)


def table_in(folder: str) -> TableFormat | None:
    """Return the format of the table that a folder is, or None."""
    if folder.endswith(METADATA):
        return IcebergFormat()
    if scheme_of(folder) in (*HTTP, "file"):
        return None
    inner = folder.rstrip("/")
    if _is_folder(f"{inner}/_delta_log"):
        return DeltaFormat()
    logs = f"{inner}/metadata"
    if not _is_folder(logs):
        return None
    if is_remote(logs):
        names = [each for each, _ in below(logs, is_recursive=False)]
    else:
        names = os.listdir(logs)
    return IcebergFormat() if any(each.endswith(METADATA) for each in names) else None


def _is_folder(path: str) -> bool:
    if scheme_of(path) in (*HTTP, "file") or glob.has_magic(path):
        return os.path.isdir(path)
    return entry(path).kind == "folder" if is_remote(path) else os.path.isdir(path)


def _refuse_parts_of_tables(paths: Sequence[str]) -> None:
    """Refuse files of a table by themselves, because rows of them may be deleted."""
    seen = set[str]()
    for path in paths:
        folder = os.path.abspath(path) if not is_remote(path) else path
        while (folder := folder.rpartition("/")[0]) not in seen and not folder.endswith("/"):
            seen.add(folder)
            table = None
            with suppress(OSError, DataError):  # a place that cannot be listed is no table
                table = table_in(folder) if folder else None
            if table is not None:
                raise DataError(
                    f"{path} is a file of the {table.name} table {folder}, and rows of it may be"
                    f" deleted: name the table, or say  {option('input_format', 'parquet')}  to"
                    " read files alone"
                )


def named_format(path: str | os.PathLike[str]) -> FileFormat | None:
    """Return the format of a file name, or None if it is not supported."""
    name = plain_name(os.fspath(path))
    stem, suffix = os.path.splitext(name.lower())
    compressed = suffix in COMPRESSIONS
    if compressed:
        suffix = os.path.splitext(stem)[1]
        if suffix == "" and stem + ".zip" == name.lower():
            suffix = member_suffix(os.fspath(path))
    format = format_of_suffix(suffix)
    return None if format is None or (compressed and not format.is_text) else format


def format_of(path: str | os.PathLike[str]) -> FileFormat:
    """Return the format of a file by its name, or by its first bytes."""
    format = named_format(path) or _format_within(os.fspath(path))
    if format is None:
        raise DataError(f"{os.fspath(path)}: events are read from files of {titles()}")
    return format


def _format_within(path: str) -> FileFormat | None:
    """Return the format that the first bytes of a file show, or None."""
    try:
        first = beginning(path)
    except OSError:  # it will be said when the file is read
        return None
    return format_begun(first)


def _below(folder: str) -> list[str]:
    """List the files in a folder and below, except hidden ones and those of jobs."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "_")))
        found += [os.path.join(place, name) for name in names if not _is_left(name)]
    return sorted(found)


def _matched(pattern: str) -> list[str]:
    """List a pattern's matches, except files of jobs unless the pattern names them."""
    every = sorted(glob.glob(pattern, recursive=True))
    said = set(Path(pattern).parts)
    found = [
        each
        for each in every
        if os.path.isfile(each) and not any(map(_is_left, set(Path(each).parts) - said - {".."}))
    ]
    if not found:
        raise DataError(_missing(pattern, is_matched=bool(every)))
    return found


def _check_is_file(name: str) -> None:
    """Refuse a pipe or a device, such as  <(zcat …) : files are read several times."""
    if not os.path.isfile(name):
        raise DataError(
            f"{name} is a pipe or a device, and events are read from files: copy it to one; for the"
            " program a pipe may be standard input, as in  zcat … | sase run … --events -"
        )


def _base(folder: str) -> str | None:
    """Return the folder above the first one with a value or pattern in its name."""
    if is_remote(folder):
        if scheme_of(folder) in HTTP:
            return None
        places = folder.split("/")
        at = next((n for n, part in enumerate(places) if "=" in part or glob.has_magic(part)), None)
        return None if at is None else "/".join(places[:at])
    parts = Path(folder).parts
    for number, part in enumerate(parts):
        if "=" in part or glob.has_magic(part):
            return os.path.join(*parts[:number]) if number else os.curdir
    return None


def _elsewhere(name: str) -> tuple[list[str], bool]:
    """The files of an address, and whether it is a folder."""
    if scheme_of(name) == "file":
        raise DataError(
            f"{name}: a path is given without its scheme: say  {name[name.index('://') + 3 :]}"
        )
    is_pattern = glob.has_magic(name) and scheme_of(name) not in HTTP
    kind = None if is_pattern else entry(name).kind
    if kind == "folder":
        start = len(name.rstrip("/"))
        inner = [each for each, kind in below(name) if kind == "file"]
        return [each for each in inner if not any(map(_is_left, each[start:].split("/")))], True
    if kind == "file":
        return [name], False
    said = set(name.split("/"))
    found = matched(name) if is_pattern else []
    found = [each for each in found if not any(map(_is_left, set(each.split("/")) - said))]
    if not found:
        raise missing(name)
    return found, False


def _is_left(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith((".partial", ".crc"))


def _missing(name: str, *, is_matched: bool = False) -> str:
    if _QUERY.match(name):
        query = " ".join(name.split())
        return (
            f"{query}: this is a query, and the path of events should stand here: the query is the"
            " first argument, and events are the second; for the program they are -q and --events"
        )
    if re.match(r"\w+:/[^/]", name):
        return f"{name}: an address is given as text, because a Path leaves out a slash of  ://"
    if is_matched and any(map(os.path.isdir, glob.iglob(name, recursive=True))):
        return f"{name}: this pattern matches folders and no files: try  {os.path.join(name, '*')}"
    if glob.has_magic(name):
        return f"{name}: no file matches this pattern"
    folder = Path(name).parent
    siblings = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    hint = did_you_mean(Path(name).name, siblings)
    return f"{name}: there is no such file or folder" + (f": {hint[0]}" if hint else "")

"""Local copies of files of other machines.

Parquet and Arrow files are read in place. Text is copied once into a temporary folder, because it
is read more than once; so is any file of a web server that cannot send parts of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EDQUOT, ENOSPC
from threading import RLock
from typing import Any
from urllib.parse import urlsplit

from sase.engine.sources.file_systems import (
    HTTP,
    WAIT,
    Stamp,
    entry,
    is_remote,
    missing,
    place_of,
    reported,
    scheme_of,
)
from sase.errors import DataError

# The stamp of a file of a server that says neither its size nor when it changed.
UNMARKED: Stamp = (-1, "")


def placed(paths: Sequence[str], base: str | None, *, copied: bool) -> tuple[Any, ...]:
    """The file system of files, their paths there, and that of the folder above them.

    They are local, or are made so if they are to be `copied`, or if a server sends no parts.
    """
    if not is_remote(paths[0]):
        return None, list(paths), base
    if copied or not entry(paths[0]).has_parts:
        return None, list(map(local, paths)), None if base is None else _copies.place(base)
    system, _ = place_of(paths[0])
    inner = None if base is None else place_of(base).path
    return system, [place_of(path).path for path in paths], inner


def local(path: str) -> str:
    """The path of a file of this machine: a copy of one that is elsewhere."""
    return _copies.of(path) if is_remote(path) else path


def renew(path: str, stamp: Stamp) -> None:
    """Forget a copy of another version of a file."""
    _copies.renew(path, stamp)


class _RemoteCopies:
    """The copies of this process, in folders like those that they come from."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, str]] = {}
        self._lock = RLock()
        self._folder: Any = None

    def of(self, path: str) -> str:
        """The path of the copy of a file."""
        with self._lock:
            if path not in self._known:
                found = entry(path)
                if found.kind != "file":
                    raise missing(path)
                self._known[path] = found.stamp, self._copied(path)
            return self._known[path][1]

    def renew(self, path: str, stamp: Stamp) -> None:
        """Forget a copy of a file that has another stamp now, or none that would tell."""
        with self._lock:
            if path in self._known and (self._known[path][0] != stamp or stamp == UNMARKED):
                del self._known[path]

    def place(self, path: str) -> str:
        """Where the copy of a file or a folder belongs."""
        import tempfile
        from hashlib import sha256

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sase-", ignore_cleanup_errors=True)
        scheme, host, inner, query, _ = urlsplit(path)
        of = sha256(f"{scheme} {host} {query}".encode()).hexdigest()[:16]
        parts = [each for each in inner.split("/") if each not in ("", ".", "..")]
        return os.path.join(self._folder.name, of, *parts)

    def _copied(self, path: str) -> str:
        import shutil

        target = self.place(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        part = f"{target}.part"
        try:
            with reported(path), _stream(path) as source, open(part, "wb") as file:
                shutil.copyfileobj(source, file, 1 << 22)
        except DataError as problem:
            if getattr(problem.__cause__, "errno", None) in (ENOSPC, EDQUOT):
                raise DataError(
                    f"{path} is copied into the folder of TMPDIR, and {self._folder.name} is full:"
                    " TMPDIR names another place"
                ) from problem
            raise
        os.replace(part, target)
        return target


def _stream(path: str) -> Any:
    """A file of another machine, from its beginning."""
    if scheme_of(path) in HTTP:
        from urllib.request import Request, urlopen

        return urlopen(Request(path, headers={"Accept-Encoding": "identity"}), timeout=WAIT)
    place = place_of(path)
    return place.system.open_input_stream(place.path, compression=None)


_copies = _RemoteCopies()

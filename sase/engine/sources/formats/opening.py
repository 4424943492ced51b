"""Open files of text as UTF-8: decompressed, and decoded from other encodings.

Arrow decompresses most files while it reads them. Others are copied once, as UTF-8, into a
temporary folder that ends with the process.
"""

from __future__ import annotations

import io
import lzma
import os
import tempfile
import zipfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeAlias

import pyarrow as pa

from sase.engine.sources.file_systems import plain_name
from sase.engine.sources.local_copies import local
from sase.errors import DataError

# Compressions by suffix: those that Arrow reads, and those of which a copy is read.
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
COPIED = (".xz", ".zip")
COMPRESSIONS = (*CODECS, *COPIED)
# Errors for a damaged archive, one with a password, and a compression that Python lacks.
DAMAGED = (
    *(lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError),
    *(RuntimeError, NotImplementedError),
)
# Copies that are kept at a time, and the characters copied at once.
MOST, PIECE = 16, 1 << 22
# Bytes that show a format.
BEGINNING = 1 << 12

# Rewrites a text, piece by piece.
Rewriting: TypeAlias = Callable[[io.TextIOBase], Iterator[str]]


def is_arrows(path: str) -> bool:
    """Whether Arrow's dataset decompresses a file by its suffix."""
    suffix = os.path.splitext(plain_name(path))[1]
    return suffix in (".gz", ".bz2") or suffix.lower() not in COMPRESSIONS


def opened(
    path: str, encoding: str | None = None, rewriting: Rewriting | None = None
) -> pa.NativeFile:
    """Open a file as UTF-8, perhaps rewritten."""
    path = local(path)
    suffix = os.path.splitext(path)[1].lower()
    if encoding is None and rewriting is None and suffix not in COPIED:
        return pa.input_stream(path, compression=CODECS.get(suffix))
    return pa.input_stream(_copies.of(path, encoding, rewriting), compression=None)


def marked_encoding(path: str) -> str | None:
    """The encoding that the first bytes of a file show: UTF-16, or None for UTF-8."""
    with _decompressed(path) as file:
        return encoding_of(file.read(2))


def encoding_of(first: bytes) -> str | None:
    """The encoding of text that begins with these bytes: UTF-16, or None for UTF-8."""
    if first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in first[:2]:
        return "utf-16-be" if first[:1] == b"\0" else "utf-16-le"
    return None


@contextmanager
def _decompressed(path: str) -> Iterator[IO[bytes] | pa.NativeFile]:
    """A file as it was before compression; an `OSError` says that it is damaged."""
    path = local(path)
    suffix = os.path.splitext(path)[1].lower()
    try:
        if suffix == ".xz":
            with lzma.open(path) as file:
                yield file
        elif suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive, path)) as one:
                yield one
        else:
            with pa.input_stream(path, compression=CODECS.get(suffix)) as stream:
                yield stream
    except DAMAGED as problem:
        raise OSError(str(problem)) from problem


def beginning(path: str) -> str:
    """The first text of a file; bytes that are no text become surrogates."""
    with _decompressed(path) as file:
        first = bytes(file.read(BEGINNING))
    encoding = encoding_of(first)
    if encoding is not None:
        return first[: len(first) // 2 * 2].decode(encoding, "replace")
    return first.decode("utf-8-sig", "surrogateescape")


def member_suffix(path: str) -> str:
    """The suffix of the one file in an archive; none if there is no archive."""
    try:
        with zipfile.ZipFile(local(path)) as archive:
            return os.path.splitext(_only_member(archive, path))[1].lower()
    except (OSError, *DAMAGED):
        return ""


def _only_member(archive: Any, path: str) -> str:
    """The name of the one file in an archive."""
    names: list[str] = [each for each in archive.namelist() if not each.endswith("/")]
    if len(names) != 1:
        raise DataError(f"{path} has {len(names)} files: unpack it, and name the folder")
    return names[0]


class _Copies:
    """The copies of this process, by file, time of change, encoding and rewriting."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0

    def of(self, path: str, encoding: str | None, rewriting: Rewriting | None) -> str:
        """The path of the copy of a file."""
        state = os.stat(path)
        key = (os.path.abspath(path), state.st_size, state.st_mtime_ns, encoding, rewriting)
        if key not in self._known:
            while len(self._known) >= MOST:
                os.unlink(self._known.pop(next(iter(self._known))))
            self._known[key] = self._copied(path, encoding, rewriting)
        return self._known[key]

    def _copied(self, path: str, encoding: str | None, rewriting: Rewriting | None) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sase-", ignore_cleanup_errors=True)
        self._made += 1
        copy = os.path.join(self._folder.name, str(self._made))
        errors = "surrogateescape" if encoding is None else "strict"
        try:
            with (
                _decompressed(path) as source,
                io.TextIOWrapper(source, encoding or "utf-8-sig", errors, newline="") as text,
                open(copy, "w", encoding="utf-8", errors="surrogateescape", newline="") as target,
            ):
                pieces = iter(lambda: text.read(PIECE), "")
                target.writelines(pieces if rewriting is None else rewriting(text))
        except UnicodeDecodeError as problem:
            raise DataError(f"{path} is no text in {encoding}: {problem.reason}") from problem
        return copy


_copies = _Copies()

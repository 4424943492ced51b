"""The parser tables: from the wheel, or built once and cached in a private folder.

Building them takes 0.4 s, loading them 20 ms. The cache is a pickle, so it is only read from a
folder that belongs to this user and that nobody else may write. Without such a folder the tables
are built each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
from functools import cache
from pathlib import Path
from pkgutil import get_data

import lark

from sase.base.files import is_private, private_folder, user_cache
from sase.errors import SaseError

ENTRY_POINTS = ["script", "condition"]


@cache
def parser() -> lark.Lark:
    """The parser of the grammar."""
    grammar, name, digest = _grammar()
    came = _shipped(name)
    if came is not None and (found := _opened(came, digest)):
        return found
    folder = _private_folder()
    if folder is None:
        return _build(grammar)
    path = folder / name
    return _load(path, digest) or _build_and_keep(grammar, path, digest)


def file_of_tables() -> tuple[str, bytes]:
    """The name and content of the tables' file in the wheel."""
    grammar, name, digest = _grammar()
    return name, _stamped(_build(grammar), digest)


def _grammar() -> tuple[str, str, str]:
    """The grammar, the name of the tables' file, and the digest of all they depend on."""
    came = _shipped("sase.lark")
    assert came is not None, "the package has its grammar"
    grammar = came.decode().replace("\r\n", "\n")
    version = f"{lark.__version__} {sys.version_info[:2]} {sys.implementation.name}"
    digest = hashlib.sha256(f"{version}\n{grammar}".encode()).hexdigest()[:24]
    return grammar, f"grammar-{digest}.pickle", digest


def _shipped(name: str) -> bytes | None:
    """A file of the package beside the grammar, or None."""
    try:
        return get_data("sase.grammar", name)
    except OSError:
        return None


def _build(grammar: str) -> lark.Lark:
    return lark.Lark(
        grammar,
        parser="lalr",
        start=ENTRY_POINTS,
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _build_and_keep(grammar: str, path: Path, digest: str) -> lark.Lark:
    from sase.base.files import PRIVATE, write_whole

    built = _build(grammar)
    # A failed write (full disk, read-only folder, another writer) only costs time at the next
    # start.
    with contextlib.suppress(OSError, SaseError):
        write_whole(path, _stamped(built, digest), mode=PRIVATE)
    return built


def _stamped(built: lark.Lark, digest: str) -> bytes:
    content = io.BytesIO()
    built.save(content)
    return _stamp(digest, content.getvalue()) + content.getvalue()


def _stamp(digest: str, tables: bytes) -> bytes:
    """The header of the tables: the digest of their origin, and a checksum."""
    return f"{digest} {hashlib.sha256(tables).hexdigest()}\n".encode()


def _load(path: Path, digest: str) -> lark.Lark | None:
    """The tables in a file; None if it is absent, damaged, or for another grammar."""
    try:
        if not is_private(path):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    return _opened(content, digest)


def _opened(content: bytes, digest: str) -> lark.Lark | None:
    """The tables in bytes; None if they are damaged, or for another grammar."""
    stamp, _, tables = content.partition(b"\n")
    # Unpickle only our own data.
    if stamp + b"\n" != _stamp(digest, tables):
        return None
    return lark.Lark.load(io.BytesIO(tables))


def _private_folder() -> Path | None:
    named = os.environ.get("SASE_CACHE_DIR")
    base = Path(named) if named else user_cache()
    return None if base is None else private_folder(base, "sase")

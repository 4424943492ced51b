"""The cache of machine code on disk: where it is, and that nothing damaged is loaded from it."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from sase.errors import SaseError
from sase.partial_file import PRIVATE, write_whole
from sase.printable import printable
from sase.private_folder import private_folder, user_cache

# Bytes of the hash that each file begins with.
SEAL = sha256().digest_size


class _Damaged(Exception):
    """A file that is not what was written."""


class _SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the code of a kernel, of which what is damaged is as if it were not there.

    To unpickle what a disk has changed may take all memory, and to run it may do anything.
    """

    def load(self, key: Any) -> Any:
        """Return what is stored for a key, or None: then it is compiled, and written anew."""
        try:
            return super().load(key)
        except _Damaged:
            return None

    def _load_index(self) -> Any:
        try:
            version, stamp, entries = self._read(self._index_path)
        except (OSError, _Damaged):
            return {}
        return entries if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        content = Path(path).read_bytes()
        if sha256(content[SEAL:]).digest() != content[:SEAL]:
            say(f"{path} is damaged: the kernel is compiled anew")
            with suppress(OSError):
                os.remove(path)
            raise _Damaged
        return pickle.loads(content[SEAL:])

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        write_whole(path, sha256(content).digest() + content, mode=PRIVATE)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cached machine code of a kernel, looked up before Numba prepares to compile."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFiles(self.cache_path, base, stamp)

    def load_overload(self, arguments: Any, context: Any) -> Any:
        """Return what is cached, or None: then Numba prepares, and compiles."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(arguments, context)

    def save_overload(self, arguments: Any, compiled: Any) -> None:
        """Keep what was compiled; where that fails it is compiled again another time."""
        try:
            super().save_overload(arguments, compiled)
        except (OSError, SaseError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            say_once(f"compiled kernels are not kept in {kernel_folder()}: {reason}")

    @property
    def is_filled(self) -> bool:
        """Whether there is something in it."""
        return (Path(self.cache_path) / f"{self._impl.filename_base}.nbi").exists()


# The folder of all kernels, and the package that they are in.
KERNELS = Path(__file__).parents[1]
PACKAGE = __package__.rpartition(".")[0]


def cache_of(function: Any) -> KernelCache | NullCache:
    """Return the cache of a kernel: one that keeps nothing where there is no folder for it."""
    folder = kernel_folder()
    if folder is None:
        return NullCache()
    with _cache_folder(folder):
        return KernelCache(function)


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """Set the folder that Numba reads when the cache of a function is made."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def kernel_folder() -> Path | None:
    """Return the cache of this version of the kernels: in the package or with the user's.

    What is in it is unpickled and run, so that it is a folder of this user alone. None where there
    is no such folder that can be written.
    """
    places: list[tuple[Path, list[str]]] = [(KERNELS / "__pycache__", [])]
    home = user_cache()
    if home is not None:
        places.append((home, ["sase"]))
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [(Path(os.environ["NUMBA_CACHE_DIR"]), [])]
    name = f"kernels-{_fingerprint()}"
    for base, below in places:
        folder = private_folder(base, *below, name)
        if folder is not None and _is_writable(folder):
            return folder
    tried = " and ".join(str(base.joinpath(*below, name)) for base, below in places)
    say(
        f"compiled kernels are not kept: {tried} cannot be written, or is not a folder of this user"
        " to which nobody else may write (NUMBA_CACHE_DIR names another place)"
    )
    return None


def _fingerprint() -> str:
    """Hash all files of kernels and the settings: Numba looks at the file of each kernel alone."""
    flags = (numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT)
    found = sha256(repr((numba.__version__, np.__version__, flags)).encode())
    for path in sorted(KERNELS.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _is_writable(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def say(line: str) -> None:
    """Tell on standard error what is done with kernels."""
    print(f"sase: {printable(line)}", file=sys.stderr)


@cache
def say_once(line: str) -> None:
    """Tell it the first time."""
    say(line)

"""The cache of machine code on disk: where it is, and that nothing damaged is loaded from it."""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
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
from numba.core.caching import FunctionCache, IndexDataCacheFile

from sase.printable import printable
from sase.private_folder import private_folder

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
        except (FileNotFoundError, _Damaged):
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
        with self._open_for_write(path) as file:
            file.write(sha256(content).digest() + content)


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

    @property
    def is_filled(self) -> bool:
        """Whether there is something in it."""
        return (Path(self.cache_path) / f"{self._impl.filename_base}.nbi").exists()


# The folder of all kernels, and the package that they are in.
KERNELS = Path(__file__).parents[1]
PACKAGE = __package__.rpartition(".")[0]
TEMPORARY = "sase-kernels-"


@contextmanager
def cache_folder() -> Iterator[None]:
    """Set the folder that Numba reads when the cache of a function is made."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(kernel_folder())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def kernel_folder() -> Path:
    """Return the cache of this version of the kernels: in the package or with the user's.

    What is in it is unpickled and run, so that it is a folder of this user alone.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    places: list[tuple[Path, list[str]]] = [(KERNELS / "__pycache__", []), (home, ["sase"])]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [(Path(os.environ["NUMBA_CACHE_DIR"]), [])]
    name = f"kernels-{_fingerprint()}"
    for base, below in places:
        folder = private_folder(base, *below, name)
        if folder is not None and _is_writable(folder):
            return folder
    return _temporary_folder([base.joinpath(*below, name) for base, below in places])


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


def _temporary_folder(refused: list[Path]) -> Path:
    folder, owner = tempfile.mkdtemp(prefix=TEMPORARY), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not in a process that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    tried = " and ".join(map(str, refused))
    say(
        f"compiled kernels are not kept: {tried} cannot be written, or is not a folder of this user"
        " to which nobody else may write (NUMBA_CACHE_DIR names another place)"
    )
    return Path(folder)


def is_temporary() -> bool:
    """Whether what is compiled is not kept."""
    return kernel_folder().name.startswith(TEMPORARY)


def say(line: str) -> None:
    """Tell on standard error what is done with kernels."""
    print(f"sase: {printable(line)}", file=sys.stderr)

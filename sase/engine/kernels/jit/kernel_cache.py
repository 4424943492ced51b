"""The disk cache of machine code, with a check that no damaged file is loaded."""

from __future__ import annotations

import os
import pickle
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

from sase.base.files import PRIVATE, private_folder, user_cache, write_whole
from sase.cached_property import cached_property
from sase.engine.kernels.jit import machine_code
from sase.engine.kernels.jit.machine_code import KERNELS
from sase.engine.kernels.jit.messages import say, say_once
from sase.engine.kernels.jit.object_code import KernelForm
from sase.errors import SaseError

# Bytes of the hash at the begin of each file.
SEAL = sha256().digest_size


class _Damaged(Exception):
    """A file with content that does not match its hash."""


class _SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The index and code files of a kernel. A damaged file counts as missing.

    Unpickling damaged data may use all memory, and running it may do anything.
    """

    def load(self, key: Any) -> Any:
        """Return the data stored for a key, or None; then Numba compiles and writes it again."""
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


class KernelCode:
    """The machine code of a kernel: the package's if there is one, otherwise the cached one."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @cached_property
    def cached(self) -> KernelCache | NullCache:
        """The cache of the kernel, or a null cache without a folder for it."""
        folder = kernel_folder()
        if folder is None:
            return NullCache()
        with _cache_folder(folder):
            return KernelCache(self._function)

    @property
    def cache_path(self) -> str | None:
        """The path of the cache, which Numba reads."""
        return self.cached.cache_path  # type: ignore[no-any-return]

    def load_overload(self, arguments: Any, context: Any) -> Any:
        """Return the kernel, or None; then Numba compiles it."""
        found = machine_code.load(self._function, arguments, context)
        return self.cached.load_overload(arguments, context) if found is None else found

    def save_overload(self, arguments: Any, compiled: Any) -> None:
        """Cache a compiled kernel."""
        self.cached.save_overload(arguments, compiled)

    def is_shipped(self, arguments: Any) -> bool:
        """Whether the package contains it."""
        return machine_code.is_there(self._function, arguments)

    def is_filled(self, arguments: Any) -> bool:
        """Whether machine code exists, or cannot be cached."""
        return self.is_shipped(arguments) or kernel_folder() is None or self.cached.is_filled


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cached machine code of a kernel, looked up before Numba prepares to compile."""

    _impl_class = KernelForm

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFiles(self.cache_path, base, stamp)

    def load_overload(self, arguments: Any, context: Any) -> Any:
        """Return the cached kernel, or None; then Numba compiles it."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(arguments, context)

    def save_overload(self, arguments: Any, compiled: Any) -> None:
        """Cache a kernel; if that fails, it is compiled again in the next process."""
        try:
            super().save_overload(arguments, compiled)
        except (OSError, SaseError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            say_once(f"compiled kernels are not kept in {kernel_folder()}: {reason}")

    @property
    def is_filled(self) -> bool:
        """Whether the cache has an index file."""
        return (Path(self.cache_path) / f"{self._impl.filename_base}.nbi").exists()


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def kernel_folder() -> Path | None:
    """Return the cache folder of this version of the kernels, in the package or the user's cache.

    Its content is unpickled and run, so the folder must belong to this user alone. None if no such
    folder can be written.
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
    """Hash all that the machine code of the kernels depends on, except the CPU."""
    found = repr((machine_code.conditions(), np.__version__))
    return sha256(found.encode()).hexdigest()[:12]


def _is_writable(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True

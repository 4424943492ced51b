"""Write files that have their name once they are whole, each by one writer at a time."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import IO

from sase.errors import SaseError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
PARTIAL = ".partial"
READABLE, PRIVATE = 0o666, 0o600  # less what the umask takes


class PartialFile:
    """A file that is called `PATH.partial` until it is committed.

    It is locked meanwhile: another writer of the same path is refused, in this process, too. The
    lock ends with its process, so what a killed one leaves is written over.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, suffix: str = PARTIAL, mode: int = READABLE
    ) -> None:
        self.path = os.fspath(path)
        self.name = self.path + suffix
        handle = _locked(self.name, mode)
        self.file: IO[bytes] = os.fdopen(handle, "wb")
        # The lock is that of all its descriptors, so that it outlives the file's own.
        self._lock = os.dup(handle)

    def commit(self) -> None:
        """Give the whole file its name, once all of it is written."""
        self.file.close()
        if not LOCKS:
            self.release()  # as Windows renames no file that is open
        os.replace(self.name, self.path)
        self.release()

    def take_place_of(self, other: PartialFile) -> None:
        """Replace another partial file, by what is written so far."""
        os.replace(self.name, other.name)
        self.name, self.path = other.name, other.path
        other.release()

    def discard(self) -> None:
        """Delete what was written."""
        with suppress(OSError):  # of the end of what nobody wants
            self.file.close()
        with suppress(FileNotFoundError):
            os.unlink(self.name)
        self.release()

    def release(self) -> None:
        """Let others write it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def write_whole(path: str | os.PathLike[str], content: bytes, *, mode: int = READABLE) -> None:
    """Write a file whole or not at all; one that was there keeps its permissions.

    What is no file, such as a pipe or /dev/stdout, is written to as it is.
    """
    path = os.fspath(path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:
                file.write(content)
            return
        partial = PartialFile(os.path.realpath(path), mode=mode)
        try:
            partial.file.write(content)
            if os.path.exists(partial.path):
                os.chmod(partial.name, stat.S_IMODE(os.stat(partial.path).st_mode))
            partial.commit()
        except BaseException:
            partial.discard()
            raise
    except OSError as problem:
        problem.filename = problem.filename or path  # which is not known of a full disk
        raise


def _locked(name: str, mode: int) -> int:
    """Open an empty file that nobody else writes."""
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), mode)
        try:
            _lock(handle, name)
            if _is_named(handle, name):
                os.ftruncate(handle, 0)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # its writer has renamed it, or removed it, meanwhile


def _lock(handle: int, name: str) -> None:
    if not LOCKS:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SaseError(
            f"{name} is being written by another run: wait for its end, or name another file"
        ) from None
    except OSError:
        return  # the file system has no locks


def _is_named(handle: int, name: str) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(name))
    return False

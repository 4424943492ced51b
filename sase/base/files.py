"""Write files atomically, make private folders, and read text files of bounded size."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import EFBIG
from pathlib import Path
from typing import IO

from sase.errors import SaseError

# ---------------------------------------------------------------- partial file

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
PARTIAL = ".partial"
READABLE, PRIVATE = 0o666, 0o600  # less the bits of the umask


class PartialFile:
    """A file with the name `PATH.partial` until it is committed.

    It is locked until then: another writer of the same path is refused, also in this process. The
    lock ends with its process, so the next writer overwrites the rest that a killed process left.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, suffix: str = PARTIAL, mode: int = READABLE
    ) -> None:
        self.path = os.fspath(path)
        self.name = self.path + suffix
        handle = _locked(self.name, mode)
        self.file: IO[bytes] = os.fdopen(handle, "wb")
        # The lock belongs to all descriptors of the file, so it outlives the file object.
        self._lock = os.dup(handle)

    def commit(self) -> None:
        """Rename the complete file to its final name."""
        self.file.close()
        if not LOCKS:
            self.release()  # Windows does not rename an open file
        os.replace(self.name, self.path)
        self.release()

    def take_place_of(self, other: PartialFile) -> None:
        """Replace another partial file by the content written so far."""
        os.replace(self.name, other.name)
        self.name, self.path = other.name, other.path
        other.release()

    def discard(self) -> None:
        """Delete the file."""
        with suppress(OSError):  # the content is not needed, so an error at its end is not reported
            self.file.close()
        with suppress(FileNotFoundError):
            os.unlink(self.name)
        self.release()

    def release(self) -> None:
        """Release the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def write_whole(path: str | os.PathLike[str], content: bytes, *, mode: int = READABLE) -> None:
    """Write a file completely or not at all; an existing file keeps its permissions.

    A path that is not a regular file, such as a pipe or /dev/stdout, is written directly.
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
        problem.filename = problem.filename or path  # the error of a full disk has no file name
        raise


def _locked(name: str, mode: int) -> int:
    """Open an empty file and lock it; raise if another writer has the lock."""
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
        os.close(handle)  # the other writer has renamed or removed it in the meantime


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


# ---------------------------------------------------------------- private folder


def user_cache() -> Path | None:
    """Return the folder of this user's caches, or None without a home folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        return None


def private_folder(base: Path, *names: str) -> Path | None:
    """Return a folder below a base; make missing folders with mode 0700.

    Return None if a folder is missing and cannot be made, is a link, belongs to another user, or is
    writable by others.
    """
    folder = base
    try:
        base.mkdir(parents=True, exist_ok=True)
        for name in names:
            folder /= name
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder if is_private(folder) else None
    except OSError:
        return None


def is_private(path: Path) -> bool:
    """Whether a path belongs to this user, and nobody else may write to it; links do not."""
    if os.name != "posix":
        return True  # on Windows the profile folder is private to its user
    status = path.lstat()
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not others_may_write and not path.is_symlink()


# ---------------------------------------------------------------- text file

# Bytes of a text file, and characters of a query: to parse such a query takes some GB.
MOST = 16 << 20


def read_text(path: Path) -> str:
    """Read a file as UTF-8; raise an OSError or a UnicodeDecodeError if that fails."""
    with path.open("rb") as file:
        return read_all(file).decode("utf-8")


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_all(file: IO[bytes]) -> bytes:
    """Read a file to its end; raise an OSError if it is longer than the limit."""
    content = file.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(EFBIG, f"it has more than {MOST >> 20} MiB, and no text is so long")
    return content

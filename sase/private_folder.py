"""Folders of this user alone, for what is loaded as code: pickles and machine code."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def user_cache() -> Path | None:
    """The folder of this user's caches, or None where there is no home folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        return None


def private_folder(base: Path, *names: str) -> Path | None:
    """The folder of these names below a base, made for this user alone (0700) where it is missing.

    None where there is none, where it is a link or another user's, or where others may write to it.
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
    """Whether a file or folder is this user's, and nobody else may write to it; links are not."""
    if os.name != "posix":
        return True  # on Windows the profile folder is private to its user
    status = path.lstat()
    others_may_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not others_may_write and not path.is_symlink()

"""The forms of snapshots: which one is written, and how those of earlier releases are read.

A change of what any part saves, or of what it means, makes another form. From the first release on
the form of each release stays readable: its change comes with an entry of `MIGRATIONS`, which
makes a state of the next form of one that was decoded, and checks nothing that a restore checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from reprlib import repr as brief
from typing import Any

from sase.errors import SnapshotError

FORMAT = 18
# By form what makes the next one of it. No form has been released yet.
MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


@cache
def release() -> str:
    """The version of this package, which a snapshot bears."""
    try:
        return version("sase")
    except PackageNotFoundError:  # a copy of the tree that is not installed
        return "an unreleased version"


def migrated(
    state: Any,
    migrations: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = MIGRATIONS,
    form: int = FORMAT,
) -> dict[str, Any]:
    """A decoded state in the form of this version, or an error that names the form that it has."""
    if not isinstance(state, dict) or type(state.get("format")) is not int:
        raise SnapshotError("this is no snapshot: it does not say which form it has")
    found: dict[str, Any] = state
    while found["format"] != form:
        if found["format"] not in migrations:
            writer = found.get("version")
            by = f", written by SASE {brief(writer)}" if isinstance(writer, str) else ""
            raise SnapshotError(
                f"this snapshot has form {brief(found['format'])}{by}; this version reads form"
                f" {form}: restore it with the version that wrote it, or push the events again"
            )
        found = migrations[found["format"]](found)
    return found

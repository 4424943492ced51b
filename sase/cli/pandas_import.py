"""Prevent Arrow from importing pandas, which it does when it makes its first value.

The import takes longer than a search over a million events, and no command needs data frames. In a
process with other code, such as a test, pandas remains available.
"""

from __future__ import annotations

import sys

from sase.base.limits import require_addresses


class _Hidden:
    """A finder for `sys.meta_path` that raises an import error for pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Leave every other module to the next finders."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed", name=name)


class HostProcess:
    """The process around a command; `is_command` says that it runs nothing else."""

    is_command = False


def hide_pandas() -> None:
    """Make the first value of Arrow while pandas is hidden; later imports find pandas."""
    if not HostProcess.is_command or "pandas" in sys.modules:
        return
    require_addresses()
    import pyarrow

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(hidden)

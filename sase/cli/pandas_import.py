"""Keep Arrow from importing pandas, which it does with the first value that it makes.

That takes longer than to search a million events, and no command is given a data frame. In a
process of others, such as a test, pandas stays as it is.
"""

from __future__ import annotations

import sys

from sase.address_space import require_addresses


class _Hidden:
    """A finder for `sys.meta_path` that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Leave every other module to the finders behind."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed", name=name)


class HostProcess:
    """The process around a command: `is_command` if it runs nothing else."""

    is_command = False


def hide_pandas() -> None:
    """Have Arrow make its first value as if there was no pandas; later imports find it."""
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

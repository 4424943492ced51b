"""A program without pandas, which Arrow imports with the first value that it makes.

It does so wherever pandas is installed, and that takes longer than to search a million events. No
frame ever comes to a command. A command in a process of others, such as a test, is no program.
"""

from __future__ import annotations

import sys


class _Hidden:
    """Finds what is imported, as `sys.meta_path` asks: pandas is not to be found."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Nothing, as of all that others are to find."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed", name=name)


class Program:
    """Whether this process is the program, and nobody else's."""

    is_all = False


def hide_pandas() -> None:
    """Have Arrow make its first value as if there was no pandas; what asks for it later gets it."""
    if not Program.is_all or "pandas" in sys.modules:
        return
    import pyarrow

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(hidden)

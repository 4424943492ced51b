"""The line of a user's notebook or module that called the package, for errors in IPython."""

from __future__ import annotations

import linecache
from traceback import walk_tb
from types import TracebackType


def calling_line(traceback: TracebackType | None) -> list[str]:
    """The place and the text of the last line before the package; nothing below a magic."""
    from IPython.core.getipython import get_ipython

    caller, shell = None, get_ipython()
    for frame, line in walk_tb(traceback):
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "sase":
            break
        caller = None if package == "IPython" else (frame.f_code, line)
    if caller is None:
        return []
    code, line = caller
    cell = None if shell is None else shell.compile.format_code_name(code.co_filename)
    place = " ".join(cell or ("File", code.co_filename))
    within = "" if code.co_name == "<module>" else f", in {code.co_name}"
    text = linecache.getline(code.co_filename, line).strip()
    return [f"{place}, line {line}{within}", f"----> {line} {text}", ""]

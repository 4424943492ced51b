"""SASE in a notebook: `%load_ext sase` registers the cell magic `%%sase` and its completion."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Register `%%sase` and the completion in its cells; `%load_ext sase` calls this.

    Examples:
        >>> from IPython.core.interactiveshell import InteractiveShell
        >>> shell = InteractiveShell.instance()
        >>> sase.load_ipython_extension(shell)
        >>> shell.find_cell_magic("sase") is not None
        True
    """
    from sase.notebook.completion import register_completion
    from sase.notebook.magics import Magic

    magic = Magic(shell)
    shell.register_magic_function(magic.sase, "line_cell", "sase")
    register_completion(shell, magic)

"""A shell of IPython in this process, with the extension loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Iterator[Any]:
    interactive = pytest.importorskip(
        "IPython.core.interactiveshell", reason="IPython is not installed: see `dev` in setup.cfg"
    ).InteractiveShell
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    made = interactive.instance()
    made.history_manager.enabled = False
    made.run_line_magic("load_ext", "sase")
    yield made
    made.history_manager.end_session()
    interactive.clear_instance()


@pytest.fixture
def completed(shell) -> Callable[[str], list[str]]:
    """The completions of a cell, at its end."""
    from IPython.core.completer import provisionalcompleter

    def completed(cell: str) -> list[str]:
        with provisionalcompleter():
            return [each.text for each in shell.Completer.completions(cell, len(cell))]

    return completed

"""The output for a terminal: colours if they are wanted, and no text that commands it."""

import io
import sys

import pytest

from sase.cli.main import main
from sase.cli.messages import wants_colour


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": ""}, False),
        (io.StringIO(), {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (Terminal(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours(stream, environment, expected):
    assert wants_colour(stream, environment) is expected


RULE = """title: a
logsource: {category: x}
detection: {s: {f: "\\e[2J"}, condition: s}
"""


@pytest.mark.parametrize("words", [["format"], ["import", "sigma"]], ids=" ".join)
def test_texts_of_queries_on_a_terminal(words, tmp_path, monkeypatch, capsys):
    """Files and pipes have a value in a text without changes, and a terminal its visible form."""
    path = tmp_path / "text"
    path.write_text(RULE if "sigma" in words else "EVENT A a WHERE a.f = '\x1b[2J'")
    assert main([*words, str(path)]) == 0
    whole = capsys.readouterr().out
    assert "'\x1b[2" in whole
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main([*words, str(path)]) == 0
    assert terminal.getvalue() == whole.replace("\x1b", "\\x1b")

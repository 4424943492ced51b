"""`sase run --html` writes a page with a picture of matches."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sase
from sase.cli.main import main

ROOT = Path(__file__).parents[2]
EVENTS = "examples/logs/process.csv"
QUERY = "EVENT SEQ(decide d, `pay compensation` p) WHERE [case_id] WITHIN 30 days RETURN d.case_id"


@pytest.fixture(autouse=True)
def in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_page_of_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    command, *lines = page.split("```console\n$ sase ")[1].partition("```")[0].splitlines()
    arguments = shlex.split(command)
    file = tmp_path / arguments[arguments.index("picture.html")]
    arguments[arguments.index("picture.html")] = str(file)
    assert main(arguments) == 0
    printed = capsys.readouterr()
    told = [*printed.out.splitlines(), *printed.err.replace(f"{tmp_path}/", "").splitlines()]
    assert [re.sub(r"[\d.]+ s$", "", line) for line in told if "compiling" not in line] == [
        re.sub(r"[\d.]+ s$", "", line) for line in lines
    ]
    matches = sase.match(arguments[arguments.index("-q") + 1], EVENTS)
    assert file.read_text(encoding="utf-8") == matches.timeline().to_html()


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert main(["run", "--events", EVENTS, "-q", QUERY, "--html", str(file)]) == 0
    found = list[tuple[str, dict[str, str | None]]]()

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Tags().feed(file.read_text(encoding="utf-8"))
    assert {"html", "svg", "title", "details", "pre"} <= {tag for tag, _ in found}
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in found}
    assert not any({"src", "href"} & {*attributes} for _, attributes in found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--html", "there/is/none.html"], "there is no folder there/is"),
        (["--html", EVENTS], "would be written over the events"),
        (["--html", "examples"], "this is a folder"),
        (["--html", "x.csv", "-o", "x.csv"], "results are written there: name another file"),
        (["--html", "x.html", "--output", "count"], "which lists no matches: leave it out"),
        (["--html", "x.html", "--follow"], "--follow, which has no end: leave it out"),
    ],
)
def test_errors(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--events", EVENTS, "-q", QUERY, *arguments]) in (1, 2)
    assert said in capsys.readouterr().err
    assert not Path("x.html").exists() and not Path("x.csv").exists()


def test_a_script_has_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "two.sase"
    text = QUERY.replace("d.case_id", "{}(d.case_id AS case_id)")
    statements = (f"CREATE STREAM {name} AS {text.format(name)};" for name in ("One", "Two"))
    script.write_text("\n".join(statements), encoding="utf-8")
    arguments = ["run", str(script), "--events", EVENTS, "--html", str(tmp_path / "x.html")]
    assert main(arguments) in (1, 2)
    assert "--html does not go with a script: leave it out" in capsys.readouterr().err

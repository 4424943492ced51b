"""`sase shell`: from a pipe, by the keys of a user, and on a terminal."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from sase.cli.main import main
from sase.cli.parser import CommandParser
from sase.cli.shell import configure
from sase.cli.shell.commands import run_command
from sase.cli.shell.session import Session, items_in
from tests.repo.source import ROOT

ROWS = "ts,type,id,price\n1,A,1,5\n2,B,1,6\n3,C,2,7\n4,B,1,8\n"
PAIR = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.id, b.price;\n"
TABLE = """a_id  b_price  detected_at
----  -------  -----------
1     6        2
1     8        4
2 matches in 4 rows
"""
ENOUGH = "EVENT SEQ(A a, A b, A c, A d, A e, A f);"


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of events in the working directory, and no history of the user."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SASE_HISTORY", str(tmp_path / "history"))
    path = tmp_path / "e.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


Piped = Callable[..., tuple[int, str, str]]


@pytest.fixture
def piped(
    events: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Piped:
    """Run the shell over a text from a pipe; the status and both outputs."""

    def piped(text: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        status = main(["shell", *(arguments or ["--events", "e.csv"])])
        return status, *capsys.readouterr()

    return piped


def session(*arguments: str) -> Session:
    """The session of a shell with these arguments."""
    parser = CommandParser(prog="sase shell")
    configure(parser)
    return Session(parser.parse_args(arguments), run_command)


# ---------------------------------------------------------------- items


@pytest.mark.parametrize(
    ("text", "items", "left"),
    [
        ("EVENT A a;", ["EVENT A a"], ""),
        ("EVENT A a\nWHERE a.x = 1", [], "EVENT A a\nWHERE a.x = 1"),
        ("EVENT A a; .plan\nEVENT B b; ", ["EVENT A a", ".plan", "EVENT B b"], ""),
        (".mode csv\n\n-- only; a comment\n", [".mode csv"], ""),
        (".mode csv", [], ".mode csv"),
        ("EVENT A a WHERE a.x = ';' -- ;\n AND a.y = 1;", 1, ""),
        ("EVENT A a /* ; */ WHERE a.x = 'it''s;", [], None),
        ("EVENT `a;b` x; EVENT", ["EVENT `a;b` x"], "EVENT"),
        ("quit\n", ["quit"], ""),
    ],
)
def test_items(text: str, items: Any, left: str | None) -> None:
    found, rest = items_in(text)
    assert (len(found) if isinstance(items, int) else found) == items
    assert rest == (text if left is None else left)


# ---------------------------------------------------------------- from a pipe


def test_a_pipe_has_no_prompts(piped: Piped) -> None:
    assert piped(PAIR)[:2] == (0, TABLE)
    assert piped(PAIR.strip(" ;\n"), "e.csv")[:2] == (0, TABLE)


def test_an_error_ends_a_pipe(piped: Piped) -> None:
    status, out, err = piped(f"EVENT SEQ(A a, B b) WHERE a.prise > 5;\n{PAIR}")
    assert (status, out) == (1, "")
    assert "query:1:29" in err
    assert "^^^^^" in err
    assert "did you mean `price`?" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".mod csv", "no command .mod: did you mean `.mode`?"),
        (".mode cvs", ".mode cvs: did you mean `csv`?"),
        ("\\q", "commands begin with a dot"),
        (".types now", ".types has no argument"),
        (".rows many", "give a whole number"),
        (".why", "there is no query yet"),
        (".open nothing.csv", "nothing.csv: there is no such file"),
        (".open e.csv e.csv", "only one path can be without a name"),
        (".open 'e.csv", "No closing quotation"),
        (".read nothing.sase", "nothing.sase cannot be read"),
        (".output none/x", ".output none/x"),
        (".param x", "give it as NAME=VALUE"),
        (f".rows {'9' * 5000}", "give a whole number of at most 18 digits"),
        ("EVENT A a WHERE a.id = :y;", "= give it with  .param y=VALUE"),
        ("FROM q EVENT A a;", "give them one with  .open q=PATH\n"),
        ("FROM `my q` EVENT A a;", "give them one with  .open 'my q=PATH'\n"),
    ],
)
def test_wrong_commands(piped: Piped, line: str, message: str) -> None:
    status, out, err = piped(f"{line}\n{PAIR}")
    assert (status, out) == (1, "")
    assert message in err


def test_modes(piped: Piped) -> None:
    _, out, _ = piped(f".mode csv\n{PAIR}.mode jsonl\n{PAIR}.mode json\n{PAIR}.mode\n.mode table\n"
                      f".rows 1\n{PAIR}")  # fmt: skip
    assert '"a_id","b_price"' in out
    assert '\n{"a_id": 1, "b_price": 6,' in out
    assert "\njson\n" in out
    assert out.endswith("1     6        2\n2 matches in 4 rows, 1 shown\n")


def test_reports_of_the_last_query(piped: Piped) -> None:
    never = "EVENT SEQ(C c, A a) WHERE [id] WITHIN 10;"
    status, out, err = piped(f"{never}\n.why\n.plan\n.compare\n.timer on\n{PAIR}")
    assert status == 0
    for part in ("0 matches in 4 rows", "There is no match.", "transformation", "strategy"):
        assert part in out
    assert ".why names the causes" in err
    assert re.search(r"sase: \d+\.\d{3} s\n", err)
    assert "a.id" not in out


def test_a_report_may_have_a_query_of_its_own(piped: Piped) -> None:
    _, out, _ = piped(".why EVENT SEQ(C c, A a)\n.timeline\n.help\n")
    assert "There is no match." in out
    assert "0 matches" in out or "no match" in out
    assert ".compare [QUERY]" in out


def test_output_goes_to_a_file(piped: Piped, tmp_path: Path) -> None:
    status, out, _ = piped(
        f".output r.txt\n{PAIR}.output\n{PAIR}.timeline p.html\n.output x\n.types"
    )
    assert (status, out) == (0, TABLE)
    assert (tmp_path / "r.txt").read_text() == TABLE
    assert (tmp_path / "x").read_text() == "A\nB\nC\n"
    assert "<svg" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize("then", ["", " second.txt"])
def test_a_file_that_is_read_changes_the_output(piped: Piped, tmp_path: Path, then: str) -> None:
    (tmp_path / "q.sase").write_text(f"{PAIR}.output{then}\n{PAIR}", encoding="utf-8")
    status, out, err = piped(f".output first.txt\n.read q.sase\n.types\n{PAIR}")
    rest = f"{TABLE}A\nB\nC\n{TABLE}"
    assert (status, out) == (0, "" if then else rest), err
    assert (tmp_path / "first.txt").read_text() == TABLE
    assert not then or (tmp_path / "second.txt").read_text() == rest


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a file of Linux")
def test_a_full_output_is_named_and_left(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = session(str(events))
    assert shell.run(".output /dev/full")
    assert not shell.run(PAIR.strip(";\n"))
    assert "error: .output /dev/full: No space left on device" in capsys.readouterr().err
    assert shell.run(PAIR.strip(";\n"))
    assert capsys.readouterr().out == TABLE


def test_files_of_queries(piped: Piped, tmp_path: Path) -> None:
    (tmp_path / "q.sase").write_text(f"-- a query\n.mode csv\n{PAIR}", encoding="utf-8")
    assert '"a_id"' in piped(".read q.sase")[1]
    (tmp_path / "own.sase").write_text(".read own.sase", encoding="utf-8")
    status, _, err = piped(".read own.sase")
    assert status == 1
    assert "this file is being read" in err


def test_parameters(piped: Piped) -> None:
    query = "EVENT B b WHERE b.price > :least RETURN b.price;\n"
    _, out, _ = piped(f".param least=7\n.param\n{query}{PAIR}")
    assert ":least = 7" in out
    assert "1 match in 4 rows" in out
    assert piped(query, "e.csv", "--param", "least=5")[1].endswith("2 matches in 4 rows\n")


STREAM = "CREATE STREAM up AS EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN Up(b.price AS p);\n"


def test_streams_are_kept(piped: Piped) -> None:
    more = "CREATE STREAM high AS FROM up EVENT Up u WHERE u.p > 7 RETURN High(u.p AS q);\n"
    status, out, _ = piped(f"{STREAM}{more}FROM high EVENT High h RETURN h.q;\n")
    assert status == 0
    assert out.startswith("stream up\nstream high\n")
    assert "8    4" in out


def test_open_says_that_it_forgets_streams(piped: Piped) -> None:
    status, _, err = piped(f".open e.csv\n{STREAM}.open e.csv\n.open e.csv\n")
    assert (status, err.count("sase: the kept streams are forgotten: up\n")) == (0, 1)


def test_a_stream_may_end_in_a_comment(piped: Piped) -> None:
    _, out, _ = piped(
        f"{STREAM.strip(';' + chr(10))} -- the end\n;\nFROM up EVENT Up u RETURN u.p;"
    )
    assert out.endswith("2 matches in 2 rows\n")


def test_errors_behind_streams_have_their_place(piped: Piped) -> None:
    status, _, err = piped(f"{STREAM}FROM up EVENT Up u\nWHERE u.pp > 1;")
    assert status == 1
    assert "query:2:9" in err
    status, _, err = piped(STREAM.replace("b.price", "b.prize"))
    assert (status, "did you mean `price`?" in err) == (1, True)


def test_inputs_with_names(piped: Piped) -> None:
    query = "FROM one, two EVENT SEQ(A a, B b) WITHIN 10 RETURN b.price;"
    status, out, _ = piped(f".open one=e.csv two=e.csv\n.schema\n{query}")
    assert status == 0
    assert re.search(r"^two +price +integer", out, re.MULTILINE)
    assert "8 matches" in out


def test_a_file_of_options(piped: Piped, tmp_path: Path) -> None:
    (tmp_path / "sase.toml").write_text('[run]\nevents = "e.csv"\nwide = true\n')
    assert piped(PAIR, "--threads", "1")[1] == TABLE
    status, _, err = piped(PAIR, "--no-config")
    assert (status, "there are no events" in err) == (1, True)


@pytest.mark.parametrize(
    ("path", "source"), [("e.csv", ""), ("one=e.csv", "FROM one "), ("./e.csv", "")]
)
def test_paths_win_over_the_events_of_a_file_of_options(
    piped: Piped, tmp_path: Path, path: str, source: str
) -> None:
    (tmp_path / "sase.toml").write_text('[run]\nevents = "none.csv"\nthreads = 1\n')
    assert piped(source + PAIR, path)[:2] == (0, TABLE)
    status, _, err = piped(PAIR, "--threads", "2")
    assert (status, "none.csv: there is no such file" in err) == (1, True)


def test_paths_are_given_once(piped: Piped) -> None:
    status, _, err = piped(PAIR, "e.csv", "--events", "e.csv")
    assert (status, "give paths alone" in err) == (2, True)


# ---------------------------------------------------------------- by keys


@contextmanager
def keyboard() -> Iterator[Any]:
    """Keys for a prompt without a terminal."""
    pytest.importorskip(
        "prompt_toolkit", reason="prompt_toolkit is missing: see `dev` in setup.cfg"
    )
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    with (
        create_pipe_input() as keys,
        create_app_session(input=keys, output=DummyOutput()),
    ):
        yield keys


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def typed(
    events: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str, str]]:
    """Run the shell by keys, and leave it with Ctrl-D; the status and both outputs."""

    def typed(*parts: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", _Terminal())
        with keyboard() as keys:
            first, *later = [*parts[:-1], f"{parts[-1]}\x04"]
            keys.send_text(first)
            for number, part in enumerate(later, start=1):
                Timer(2 * number, keys.send_text, (part,)).start()
            status = main(["shell", str(events)])
        return status, *capsys.readouterr()

    return typed


def test_a_query_has_several_lines(typed: Piped) -> None:
    assert typed(PAIR.replace(" WHERE", "\rWHERE").replace("\n", "\r"))[:2] == (0, TABLE)


def test_an_error_does_not_end_a_terminal(typed: Piped) -> None:
    status, out, err = typed("EVENT SEQ(A a;\r.mod\r" + PAIR.replace("\n", "\r"))
    assert (status, out) == (0, TABLE)
    assert "error[unclosed-bracket]" in err
    assert "did you mean `.mode`?" in err


def test_control_c_clears_the_text(typed: Piped) -> None:
    assert typed("EVENT nonsense\x03" + PAIR.replace("\n", "\r"))[:2] == (0, TABLE)


def test_quit_leaves(typed: Piped) -> None:
    assert typed("quit\r" + PAIR)[:2] == (0, "")


def test_history_is_in_a_file(typed: Piped, tmp_path: Path) -> None:
    assert typed(PAIR.replace("\n", "\r"))[1] == TABLE
    assert "EVENT SEQ(A a, B b)" in (tmp_path / "history").read_text()
    assert (tmp_path / "history").stat().st_mode & 0o777 == 0o600
    assert typed("\x1b[A\r")[1] == TABLE


def test_a_history_that_cannot_be_kept(typed: Piped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASE_HISTORY", "/nowhere/history")
    status, out, err = typed(PAIR.replace("\n", "\r"))
    assert (status, out) == (0, TABLE)
    assert "the history is not kept: /nowhere/history: No such file" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".mo", [".mode"]),
        (".mode c", ["csv"]),
        (".open e", [".csv"]),
        (".nothing x", []),
        ("EVENT SEQ(", {"A", "B", "C", "ANY"}),
        ("EVENT SEQ(A a, B b) WHERE a.pr", ["price"]),
        ("EVENT SEQ(A a, B b) WHERE a.price > le", ["least", "length"]),
        ("EVENT SEQ(A a, B b) WHERE a.price > da", ["date_trunc", "day", "date"]),
        ("EVENT SEQ(A a, B b) WHERE a.price > a", ["a", "abs", "avg"]),
        ("EVENT SEQ(A a, B b)\nWHERE [id] wi", {"with", "within"}),
        (".why EVENT SEQ(A a, B b) WITHIN 5 mi", ["microseconds", "milliseconds", "minutes"]),
    ],
)
def test_completion(events: Path, text: str, words: Any) -> None:
    pytest.importorskip("prompt_toolkit")
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from sase.cli.shell.prompt import ShellCompleter

    completer = ShellCompleter(session(str(events)))
    found = [each.text for each in completer.get_completions(Document(text), CompleteEvent())]
    assert (set(found) & words == words) if isinstance(words, set) else found == words


def test_completion_without_types(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If types cannot be looked up in time, other names are completed, and `.types` says why."""
    pytest.importorskip("prompt_toolkit")
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from sase.api import completion
    from sase.cli.shell.prompt import ShellCompleter

    monkeypatch.setattr(completion, "TIME", "1ns")
    shell = session(str(events))
    found = ShellCompleter(shell).get_completions(
        Document("EVENT SEQ(A a, B b) WHERE a.pr"), CompleteEvent()
    )
    assert [each.text for each in found] == ["price"]
    assert not shell.run(".types")


def test_tab_completes(typed: Piped) -> None:
    # A thread completes the word, so Enter comes later.
    assert typed(".typ\t", "\r")[1] == "A\nB\nC\n"


def test_control_c_ends_the_query(
    typed: Piped, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal in a search that would take for ever leads back to the prompt."""
    events.write_text("ts,type\n" + "".join(f"{n},A\n" for n in range(3000)), encoding="utf-8")
    search = Session.matches
    timer = Timer(2, os.kill, (os.getpid(), signal.SIGINT))

    def begun(session: Session, *given: Any) -> Any:
        timer.start()
        return search(session, *given)

    monkeypatch.setattr(Session, "matches", begun)
    # A process that a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status, out, err = typed(f"{ENOUGH}\r.mode\r")
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 0
    assert "sase: interrupted" in err
    assert out.endswith("table\n")


def test_an_interrupted_query_shows_its_first_matches(
    piped: Piped, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sase.engine.results.matches import Matches

    counted = Matches.counted

    def interrupted(matches: Matches, count: int, first: list[Any]) -> Iterator[int]:
        yield from counted(matches, count, first)
        raise KeyboardInterrupt

    monkeypatch.setattr(Matches, "counted", interrupted)
    status, out, _ = piped(PAIR)
    assert status == 130
    assert out == TABLE.replace("2 matches in 4 rows", "2 matches so far")


def test_a_terminal_needs_prompt_toolkit(
    piped: Piped, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    monkeypatch.delitem(sys.modules, "sase.cli.shell.prompt", raising=False)
    assert piped(PAIR)[0] == 0
    monkeypatch.setattr(sys, "stdin", _Terminal())
    assert main(["shell", "e.csv"]) == 2
    assert "pip install 'sase[shell]'" in capsys.readouterr().err


# ---------------------------------------------------------------- on a terminal


@pytest.mark.slow
def test_a_terminal(events: Path) -> None:
    """A program on a pseudo terminal, with all keys of a session."""
    pexpect = pytest.importorskip("pexpect")
    pytest.importorskip("prompt_toolkit")
    environment = {**os.environ, "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONPATH": str(ROOT)}
    arguments = ["-m", "sase", "shell", str(events)]
    child = pexpect.spawn(
        sys.executable,
        arguments,
        encoding="utf-8",
        timeout=120,
        env=environment,
        cwd=events.parent,
        dimensions=(40, 120),
    )
    child.expect("sase>")
    child.send("EVENT SEQ(A a, B b)\r")
    child.expect(r"\.\.\.")
    child.send("WITHIN 10 RETURN a.id;\r")
    child.expect("2 matches in 4 rows")
    child.expect("sase>")
    child.send(".typ\t")
    child.expect("es")
    child.send("\r")
    child.expect("A\r\nB\r\nC\r\n")
    child.expect("sase>")
    child.send("\x04")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


# ---------------------------------------------------------------- the page


def transcripts() -> list[str]:
    page = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    return [block.split("```")[0] for block in page.split("```console\n$ sase shell ")[1:]]


@pytest.mark.parametrize("text", transcripts())
def test_the_transcript_is_real(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its inputs, run in turn, print the lines under them."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    arguments, _, rest = text.partition("\n")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(out):
        shell = session(*arguments.split())
        for item in re.findall(r"^sase> (.*(?:\n  \.\.\. .*)*)", rest, re.MULTILINE):
            print("sase>", item)
            shell.read([item.replace("\n  ... ", "\n") + "\n"])
    assert out.buffer.getvalue().decode() == rest  # type: ignore[attr-defined]

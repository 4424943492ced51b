"""Hostile values and names through every output: no terminal obeys them, no page runs them."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.engine.results.sinks import FORMULAS, FileSink, stream_writer
from sase.errors import BudgetWarning, DataError, IntervalWarning, ReplayWarning, SchemaError
from sase.printable import printable, printable_json, printable_lines
from tests.program import Ended, Program

# Clears the screen, sets the title, rings, deletes, in eight bits too, and turns the direction.
COMMANDS = "\x1b[2J\x1b]0;owned\x07\x08\x7f\x9b2J\u202e\u2028\r"
MARKUP = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
HOSTILE = f"{COMMANDS}{MARKUP}"
VALUE, COLUMN, TYPE, VARIABLE = (f"{name}{HOSTILE}" for name in ("v", "c", "T", "x"))
A, B = f"`{VARIABLE}a`", f"`{VARIABLE}b`"
TEXT = VALUE.replace("'", "''")
QUERY = f"EVENT SEQ(`{TYPE}` {A}, `{TYPE}` {B}) WHERE {A}.`{COLUMN}` = '{TEXT}' WITHIN 10"
NONE = f"{QUERY.removesuffix(' WITHIN 10')} AND {A}.`{COLUMN}` != {B}.`{COLUMN}` WITHIN 10"
WRONG = f"EVENT `{TYPE}` {A} WHERE {A}.`{COLUMN}1` = '{TEXT}'"
EVENTS = pa.table({"ts": [1, 2, 3], "type": [TYPE] * 3, COLUMN: [VALUE] * 3})


def is_harmless(text: str) -> bool:
    return all(each in "\n\t" or each.isprintable() for each in text)


def assert_harmless(ended: Ended) -> None:
    """Something is shown, and a terminal obeys none of it."""
    assert ended.out or ended.said
    assert is_harmless(ended.out)
    assert is_harmless(ended.said)


def refusal(work: Callable[[], object]) -> BaseException:
    with pytest.raises(sase.SaseError) as caught:
        work()
    return caught.value


def plan() -> sase.Plan:
    return sase.compile(QUERY, EVENTS.schema)


def shown_by_python() -> Iterator[tuple[str, str]]:
    matches = sase.match(QUERY, EVENTS)
    assert len(matches) == 3
    yield "matches", repr(matches)
    yield "report", str(matches.report)
    yield "plan", str(plan())
    yield "plan on a line", repr(plan())
    yield "matcher", repr(plan().open())
    yield "compressed", repr(sase.match(QUERY, EVENTS, output="compressed"))
    explained = sase.explain(QUERY, EVENTS, analyze=True)
    yield "text", explained.to_text(verbose=True)
    yield "document", explained.to_json()
    yield "graph", explained.to_dot()
    yield "page", explained.to_html()
    yield "why", str(sase.why(NONE, EVENTS))
    yield "why in a session", repr(sase.why(NONE, EVENTS))
    yield "a picture of near misses", str(sase.why(NONE, EVENTS).timeline)
    yield "compare", str(sase.compare(QUERY, EVENTS))
    yield "compare in a session", repr(sase.compare(QUERY, EVENTS))
    yield (
        "explained match",
        "\n".join(
            str(match)
            for difference in sase.compare(QUERY, EVENTS).differences
            for match in difference.matches
        ),
    )


def refused() -> Iterator[tuple[str, BaseException]]:
    bad = pa.table({"ts": [1, None], "type": [TYPE, TYPE], COLUMN: [VALUE, VALUE]})
    yield "a name", refusal(lambda: sase.match(WRONG, EVENTS))
    yield "syntax", refusal(lambda: sase.match(f"EVENT {HOSTILE}", EVENTS))
    yield "an open text", refusal(lambda: sase.match(f"EVENT A WHERE a.b = '{COMMANDS}", EVENTS))
    yield "a recipe", refusal(lambda: sase.match(QUERY, EVENTS, plan=HOSTILE))
    yield "a file", refusal(lambda: sase.match(QUERY, f"{HOSTILE}.csv"))
    yield "a time column", refusal(lambda: sase.match(QUERY, EVENTS, time=HOSTILE))
    yield "a bad row", refusal(lambda: sase.match(QUERY, bad))
    yield "a plan", refusal(lambda: sase.Plan.from_json(json.dumps({HOSTILE: HOSTILE})))
    yield "a snapshot", refusal(lambda: plan().restore(HOSTILE.encode()))
    yield "an output", refusal(lambda: sase.match(QUERY, EVENTS, output=HOSTILE))
    yield "data", sase.DataError(HOSTILE)
    yield "a time limit", sase.TimeLimitError(HOSTILE)


def test_what_python_shows() -> None:
    for name, text in shown_by_python():
        assert is_harmless(text), name
        assert name == "report" or text, name


def test_exceptions_and_warnings() -> None:
    for name, error in refused():
        assert is_harmless(str(error)), name
        assert is_harmless(repr(error)), name
        assert str(pickle.loads(pickle.dumps(error))) == str(error), name
    for warning in (BudgetWarning(HOSTILE), IntervalWarning(HOSTILE), ReplayWarning(HOSTILE)):
        assert is_harmless(str(warning))
        assert "\\x1b[2J" in str(warning)


class Page(HTMLParser):
    """Collects the elements and attributes of a page, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}


def test_pages_run_nothing() -> None:
    matches, explained = sase.match(QUERY, EVENTS), sase.explain(QUERY, EVENTS, analyze=True)
    for page, scripts in [
        (explained.to_html(), 1),
        (explained._repr_html_(), 0),
        (matches._repr_html_(), 0),
        (plan()._repr_html_(), 0),
        (sase.why(NONE, EVENTS).to_html(), 0),
        (sase.why(NONE, EVENTS)._repr_html_(), 0),
    ]:
        assert is_harmless(page)
        found = Page(page)
        assert found.tags.count("script") == scripts
        assert "img" not in found.tags
        assert not any(name.startswith("on") for name in found.names)
        assert "alert(1)" in page
    own = sase.explain(
        "EVENT SEQ(A a, A b) WHERE a.x = 'v' WITHIN 10", [{"ts": 1, "type": "A", "x": "v"}]
    )
    assert Page(own.to_html()).tags.count("script") == 1


def test_a_graph_is_one_graph() -> None:
    """Its labels end where they should: none of its lines has a quote that opens no label."""
    for line in sase.explain(QUERY, EVENTS).to_dot().splitlines():
        assert line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 0


COMMAND_LINES = [
    ["run", "-q", QUERY],
    ["run", "-q", QUERY, "--format", "jsonl"],
    ["run", "-q", QUERY, "--output", "compressed"],
    ["run", "-q", NONE],
    ["run", "-q", WRONG],
    ["run", "-q", QUERY, "-o", f"{HOSTILE}/m.csv"],
    ["run", "-q", QUERY, "-o", HOSTILE],
    ["run", "-q", QUERY, "--plan", HOSTILE],
    ["run", "-q", QUERY, "--limit", HOSTILE],
    ["run", "-q", QUERY, f"--{HOSTILE}"],
    ["run", "-q", QUERY, "--timeout", HOSTILE],
    ["run", "-q", QUERY, "--time", HOSTILE],
    ["run", "-q", QUERY, "--param", f"{HOSTILE}=1"],
    ["run", HOSTILE],
    ["explain", "-q", QUERY, "--verbose"],
    ["explain", "-q", QUERY, "--format", "json"],
    ["explain", "-q", QUERY, "--format", "dot"],
    ["explain", "-q", QUERY, "--format", "html"],
    ["plans", "-q", QUERY],
    ["why", "-q", NONE],
    ["why", "-q", NONE, "--format", "json"],
    ["compare", "-q", QUERY],
    ["compare", "-q", QUERY, "--format", "json"],
    ["check", "-q", WRONG],
]


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: f"{words[0]}{len(words)}")
def test_the_program(words: list[str], program: Program) -> None:
    assert_harmless(program(*words, events=EVENTS))


ROWS = [json.dumps(row) for row in EVENTS.to_pylist()]
FOLLOWED = {
    "json lines": (ROWS, ["-q", QUERY]),
    "an unknown column": (ROWS, ["-q", WRONG]),
    "a column to come": (ROWS, ["-q", f"EVENT `{TYPE}` {A} WHERE {A}.`{HOSTILE}` = 1"]),
    "a file": (ROWS, ["-q", QUERY, "-o", HOSTILE]),
    "a type": (ROWS, ["-q", QUERY.replace(TYPE, f"{TYPE}!", 1)]),
    "a bad value": ([*ROWS, json.dumps({"ts": VALUE, "type": TYPE})], ["-q", QUERY]),
    "a bad line": ([*ROWS, HOSTILE.replace("\r", "")], ["-q", QUERY]),
    "a header": ([f"ts,type,{HOSTILE}".replace("\r", ""), f"1,A,{HOSTILE}"], ["-q", "EVENT A a"]),
    "values aside": (
        [*ROWS, json.dumps({"ts": VALUE, "type": TYPE})],
        ["-q", QUERY, "--on-bad-row", "quarantine"],
    ),
    "texts for NULL": (
        ["ts,type,v", "1,A,1", "2,A,2", f"3,A,{MARKUP[:20]}\x1b[2J"],
        ["-q", "EVENT SEQ(A a, A b) WHERE a.v < b.v"],
    ),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_followed(name: str, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, words = FOLLOWED[name]
    path = Path("lines")
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        ended = program("run", "--follow", "--events", "-", *words)
    assert ended.said
    assert_harmless(ended)


@pytest.mark.parametrize("words", [["format", "--check"], ["format", "-w"], ["check"]])
def test_names_of_queries(words: list[str], program: Program) -> None:
    name, shown = f"{COMMANDS}.sase", ""
    for text in ("event  SEQ(A a,B b) where a.x=", "event  SEQ(A a,B b)"):
        Path(name).write_text(text, encoding="utf-8")
        _, out, said = program(*words, name)
        shown += out + said
    assert is_harmless(shown)
    assert "\\x1b[2J" in shown


def test_colours_are_ours_alone(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    _, out, said = program("check", "-q", WRONG + HOSTILE)
    painted = out + said
    for colour in ("\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[1m", "\x1b[0m"):
        painted = painted.replace(colour, "")
    assert is_harmless(painted)


def test_json_reads_as_it_was() -> None:
    whole = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x30000, 7), 0xE0001, 0x10FFFF]))
    text = printable_json({"a": [whole, HOSTILE]}, indent=2)
    assert is_harmless(text.replace("\u200c", "").replace("\u200d", "").replace("\xa0", "")) or all(
        each in "\n\u200c\u200d" or each.isprintable() or each.isspace() for each in text
    )
    assert json.loads(text) == {"a": [whole, HOSTILE]}


def test_what_is_shown_stays() -> None:
    for text in ("naïve – “x” → 値 😀", "می\u200cخواهم", "a\xa0b"):
        assert printable(text) == printable_lines(text) == text
    assert printable("a\tb\nc") == "a\\tb\\nc"
    assert printable_lines("a\tb\r\nc\rd") == "a\tb\nc\\rd"
    assert printable("\udc80") == "\\udc80"


def test_passwords_of_addresses_are_in_no_message() -> None:
    address = "s3://reader:hunter2@store/trades.csv"
    for text in (str(DataError(f"{address} cannot be read")), str(SchemaError(address))):
        assert text.startswith("s3://reader:…@store/trades.csv")
    for secret in ("a/b", "a@b", "a:b", "5"):
        assert str(DataError(f"s3://key:{secret}@store/x")) == "s3://key:…@store/x"
    for text in ("https://host:8080/a@b", "a://b c:d@e", "mail me:now@home"):
        assert str(DataError(text)) == text
    assert str(DataError("https://ghp_ab@host/x")) == "https://…@host/x"
    for text in ("abfs://container@account/x", "sftp://me@host/x", "s3://anonymous@bucket/x"):
        assert str(DataError(text)) == text


def test_a_password_that_a_library_repeats_is_in_no_message() -> None:
    for address, said, shown in (
        ("s3://KEY:ab/c@h:1/x", "no bucket: 'KEY:ab/c@h:1'", "no bucket: 'KEY:…@h:1'"),
        ("https://me:ab/c@h/x", "nonnumeric port: 'ab'", "nonnumeric port: '…'"),
        ("https://ghp_ab@h/x", "no host ghp_ab@h", "no host …@h"),
    ):
        assert str(DataError(f"{address}: {said}")).endswith(f": {shown}")


def test_tokens_in_the_query_string_of_an_address_are_in_no_message() -> None:
    signed = "https://host/f.parquet?sv=2024-01&sig=a%2Fb+c=="
    for text, shown in (
        (signed, "https://host/f.parquet?sv=…&sig=…"),
        (f"read `{signed}`: no", "read `https://host/f.parquet?sv=…&sig=…`: no"),
        (f"{signed}, x://y?a=b.", "https://host/f.parquet?sv=…&sig=…, x://y?a=…."),
        ("s3://me:pw@store/x?token=ab:c", "s3://me:…@store/x?token=…"),
        ("https://host/f?sig=a?b=c&d='e'f", "https://host/f?sig=…&d=…"),
        ("https://host/a b.csv?sig=ab: no", "https://host/a b.csv?sig=…: no"),
        ("https://host/f#access_token=ab", "https://host/f#access_token=…"),
        ("https://host/f;sig=ab", "https://host/f;sig=…"),
        ("(https://host/f?ab), x", "(https://host/f?…), x"),
        ("https://host/f?ab&c=d&e: no", "https://host/f?…&c=…&…: no"),
    ):  # fmt: skip
        assert str(DataError(text)) == shown
    for text in ("s3://store/part-?.csv", "is it `x?a=b`", "https://host/f?)", "https://h/#a"):
        assert str(DataError(text)) == text


@pytest.mark.parametrize("value", ["x" * 5_000_000, "\x1b" * 100_000, "x\n" * 3])
def test_a_message_of_a_long_value_has_its_place_and_its_reason(value: str) -> None:
    """Also when it is part of another message."""
    said = str(sase.DataError(f"line 7: {value}: no number"))
    assert str(sase.PlanError(f"here: {said}")) == f"here: {said}"
    assert said.startswith("line 7: ")
    assert said.endswith(": no number")
    assert len(said) < 5000
    assert is_harmless(said)


@pytest.mark.parametrize(
    "text", ["EVENT {0} {0}", "EVENT A a WHERE a.{0} = 1", "EVENT A a WHERE '{0}"]
)
def test_a_query_of_a_megabyte_is_no_long_message(text: str) -> None:
    with pytest.raises(sase.QueryError) as caught:
        sase.match(text.format("x" * 1_000_000), {"A": [{"ts": 1}]})
    assert len(str(caught.value)) < 5000


# ---------------------------------------------------------------- formulas


def as_csv(rows: pa.Table, *, safe: bool) -> bytes:
    file = io.BytesIO()
    writer = stream_writer("csv", file, rows.schema, safe=safe)
    for batch in rows.to_batches():
        writer.write_batch(batch)
    writer.close()
    return file.getvalue()


def test_no_text_is_a_formula() -> None:
    texts = ["=cmd()", "+1", "-1", "@x", "\tx", "\rx", "\n=x", "＝x", "x=1", "'", "", None]
    rows = pa.table(
        {
            "=name": texts,
            "number": [-1] * len(texts),
            "real": [-1.5] * len(texts),
            "event": [{"+a": text, "-b": -2} for text in texts],
            "coded": pa.array(texts).dictionary_encode(),
            "large": pa.array(texts, pa.large_string()),
            "series": [[{"a": text}] for text in texts],
        }
    )
    safe = pa.csv.read_csv(
        io.BytesIO(as_csv(rows, safe=True)),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
    )
    assert safe.column_names[:3] == ["'=name", "number", "real"]
    for name, column in zip(safe.column_names, safe.columns, strict=True):
        assert not name.startswith(FORMULAS)
        if pa.types.is_string(column.type):
            assert not any(each.startswith(FORMULAS) for each in column.to_pylist() if each)
    assert safe["number"].to_pylist() == [-1] * len(texts)
    assert safe["real"].to_pylist() == [-1.5] * len(texts)
    assert safe["'=name"].to_pylist()[:2] == ["'=cmd()", "'+1"]
    assert safe["'=name"].to_pylist()[8:10] == ["x=1", "'"]


def test_without_the_option_texts_are_exact(tmp_path: Path) -> None:
    rows = pa.table({"=name": ["=cmd()", "-1"]})
    assert as_csv(rows, safe=False) == b'"=name"\n"=cmd()"\n"-1"\n'
    assert as_csv(rows, safe=True) == b'"\'=name"\n"\'=cmd()"\n"\'-1"\n'
    for safe, expected in ((False, ["=cmd()", "-1"]), (True, ["'=cmd()", "'-1"])):
        sink = FileSink(tmp_path / "a.csv", rows.schema, safe=safe)
        assert sink._is_text
        sink.write_batch(rows.to_batches()[0])
        sink.close()
        (column,) = pa.csv.read_csv(tmp_path / "a.csv", convert_options=STRINGS).columns
        assert column.to_pylist() == expected


STRINGS = pa.csv.ConvertOptions(column_types={"=name": pa.string(), "'=name": pa.string()})


def test_the_option(program: Program) -> None:
    events = pa.table({"ts": [1], "type": ["=A"], "n": [-1], "text": ["=cmd()"]})
    words = ["run", "-q", "EVENT `=A` a"]
    code, printed, _ = program(*words, "--format", "csv", "--csv-safe", events=events)
    assert code == 0
    assert "'=cmd()" in printed
    assert ",-1," in printed or ",-1\n" in printed
    assert program(*words, "-o", "m.csv", "--csv-safe", events=events).code == 0
    assert Path("m.csv").read_text() == printed
    code, printed, _ = program(*words, "--format", "csv", events=events)
    assert code == 0
    assert '"=cmd()"' in printed
    code, _, said = program(*words, "-o", "m.jsonl", "--csv-safe", events=events)
    assert code == 2
    assert "--csv-safe is for CSV" in said

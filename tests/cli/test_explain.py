"""`sase explain`: every option, every form, and its messages for mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main

ROWS, RANDOM = 300, Random(5)
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": [RANDOM.choice("ABC") for _ in range(ROWS)],
        "id": [RANDOM.randrange(5) for _ in range(ROWS)],
        "v": [RANDOM.randrange(100) for _ in range(ROWS)],
    }
)
QUERY = "EVENT SEQ(A a, !(B n), C c) WHERE [id] AND a.v < c.v WITHIN 60"
SCHEMA = "[types.A]\nid = 'integer'\nv = 'integer'\n[types.B]\n[types.C]\nv = 'integer'\n"
OPEN = (
    "no events and no schema, so every type is assumed to have all attributes that the query names"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(EVENTS, "events.parquet")
    Path("query.sase").write_text(QUERY, encoding="utf-8")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")


def explain(*arguments: str) -> int:
    return main(["explain", "query.sase", *arguments])


def measured(*arguments: str) -> int:
    return explain("--events", "events.parquet", *arguments)


def out_of(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


# ---------------------------------------------------------------- known facts


def test_a_query_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain() == 0
    text = out_of(capsys)
    assert text == str(sase.explain(QUERY)) + "\n"
    assert text.endswith(f"note: {OPEN}\n")
    assert "expected" not in text


def test_the_query_as_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain() == 0
    from_file = out_of(capsys)
    assert main(["explain", "-q", QUERY]) == 0
    assert out_of(capsys) == from_file


def test_with_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured() == 0
    text = out_of(capsys)
    assert text == str(sase.explain(QUERY, EVENTS)) + "\n"
    assert "statistics from all events: 300 events\nresults: about " in text
    assert "actual" not in text
    assert measured() == 0
    assert out_of(capsys) == text


def test_with_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--schema", "schema.toml") == 0
    text = out_of(capsys)
    assert "└─ SS→ active instance stacks (AIS)\n" in text
    assert OPEN not in text


def test_analyze(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--analyze") == 0
    text = out_of(capsys)
    found = len(sase.match(QUERY, EVENTS))
    assert f" expected, {found:,} found, in " in text
    assert text.count("expected: ") == text.count("actual: ") > 1
    assert "actual: 300 in, " in text


def test_analyze_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--analyze", "--pushed", "7", "--format", "json") == 0
    document = json.loads(out_of(capsys))
    assert document["results"]["actual"] == len(sase.match(QUERY, EVENTS))
    assert {path["feed"] for path in document["physical"]} == {"loaded", "pushed"}
    assert explain("--events", "events.parquet", "--pushed", "7") == 2
    assert "analyze=True pushes batches" in capsys.readouterr().err


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--verbose") == 0
    text = out_of(capsys)
    assert "\nrewrites, in order:\n  1. infer_equivalence_tests: declined: " in text
    assert "choice 1" not in text, "the run of so few events takes no statistics to choose by"
    assert explain("--verbose") == 0
    without = out_of(capsys)
    assert "rewrites, in order" in without
    assert "choice 1" not in without, "without statistics there is nothing to choose by"


# ---------------------------------------------------------------- forms and files


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--format", "json", "--analyze") == 0
    document = json.loads(out_of(capsys))
    assert document["query"] == QUERY
    assert document["operators"][0]["actual"]["rows_in"] == ROWS
    assert document["operators"][0]["actual"]["counters"]["admitted"] == ROWS


@pytest.mark.parametrize(
    ("form", "begins"), [("dot", "digraph plan {\n"), ("html", "<!doctype html>"), ("json", "{\n")]
)
def test_a_form_in_a_file(form: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--format", form) == 0
    text = out_of(capsys)
    assert text.startswith(begins)
    for option in ("-o", "--out"):
        assert measured("--format", form, option, "plan.out") == 0
        assert out_of(capsys) == ""
        assert Path("plan.out").read_text(encoding="utf-8").rstrip("\n") == text.rstrip("\n")


def test_text_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("-o", "plan.txt") == 0
    assert out_of(capsys) == ""
    assert Path("plan.txt").read_text(encoding="utf-8") == str(sase.explain(QUERY))


# ---------------------------------------------------------------- changes of the plan


def test_off(capsys: pytest.CaptureFixture[str]) -> None:
    off = ["push_window_into_construction", "push_window_into_scan"]
    assert explain("--verbose", *(word for name in off for word in ("--off", name))) == 0
    text = out_of(capsys)
    assert "WD window" in text
    for name in off:
        assert f"{name}: declined: it is switched off\n" in text


def test_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--plan", "basic", "--analyze") == 0
    text = out_of(capsys)
    assert text.startswith("plan basic: ")
    assert "runtime stack of the NFA" in text
    Path("mine.toml").write_text("rewrites = ['use_active_instance_stacks']", encoding="utf-8")
    assert explain("--plan", "mine.toml") == 0
    assert out_of(capsys).startswith("plan mine:")


def test_limit_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, C c) WHERE a.v > :least WITHIN 60"
    arguments = ["explain", "-q", query, "--events", "events.parquet", "--param", "least=7"]
    assert main([*arguments, "--limit", "3"]) == 0
    text = out_of(capsys)
    assert "a: A WHERE a.v > 7\n" in text
    assert "results: about 3 expected\n" in text
    assert "     LIMIT 3\n" in text


def test_cheaper_forms_name_options_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, B+ b[], C c) WITHIN 40"
    assert main(["explain", "-q", query]) == 0
    text = " ".join(out_of(capsys).split())
    assert "; --output compressed counts and samples the matches" in text
    assert 'output="compressed"' in str(sase.explain(query))


def test_other_columns(capsys: pytest.CaptureFixture[str]) -> None:
    renamed = EVENTS.rename_columns(["w", "k", "id", "v"])
    pyarrow.parquet.write_table(renamed, "events.parquet")
    assert measured("--time", "w", "--type", "k") == 0
    assert out_of(capsys) == str(sase.explain(QUERY, EVENTS)) + "\n"
    assert explain("--time", "w", "--type", "k") == 0
    assert out_of(capsys) == str(sase.explain(QUERY)) + "\n"


def test_a_window_in_units_needs_the_unit_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, C c) WITHIN 2 seconds"
    arguments = ["explain", "-q", query, "--events", "events.parquet"]
    assert main(arguments) == 2
    assert "--time-unit" in capsys.readouterr().err
    assert main([*arguments, "--time-unit", "ms"]) == 0
    text = out_of(capsys)
    assert "within 2 seconds" in text
    assert main(["explain", "-q", query]) == 0
    assert "within 2 seconds" in out_of(capsys), "without events nothing is known of it"


# ---------------------------------------------------------------- statistics


def test_statistics_are_saved_and_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--save-stats", "stats.json") == 0
    text = out_of(capsys)
    saved = Path("stats.json").read_bytes()
    assert measured("--stats", "stats.json", "--save-stats", "again.json") == 0
    assert out_of(capsys) == text
    assert Path("again.json").read_bytes() == saved
    # Without the events, which may be far away.
    Path("events.parquet").unlink()
    columns = dict.fromkeys(["ts", "id", "v"], "integer")
    Path("schema.json").write_text(json.dumps({"columns": columns}), encoding="utf-8")
    assert explain("--schema", "schema.json", "--stats", "stats.json") == 0
    assert out_of(capsys) == text


def test_a_run_goes_by_saved_statistics_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--save-stats", "stats.json") == 0
    arguments = ["--events", "events.parquet", "--stats", "stats.json", "--max-matches", "2"]
    assert main(["run", "query.sase", *arguments]) == 1
    err = capsys.readouterr().err
    assert err.startswith("sase: warning: about ")
    assert "matches are expected, more than --max-matches 2: there are about" in err
    assert ".py" not in err


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--off", "push_limits"], 2, "no rewrite `push_limits` to switch off; did you mean `pu"),
        (["--plan", "basik"], 2, "there is no recipe `basik`; did you mean `basic`?"),
        (["--plan", "no.toml"], 2, "no.toml: the recipe cannot be read: "),
        (["--stats", "no.json"], 2, "no.json: the statistics cannot be read: "),
        (["--stats", "query.sase"], 2, "these are no statistics: it is not valid JSON"),
        (["--schema", "no.toml"], 2, "no.toml cannot be read: "),
        (["--schema", "query.sase"], 2, "query.sase"),
        (["--events", "no.parquet"], 1, "no.parquet: there is no such file or folder"),
        (["--events", "event.parquet"], 1, "did you mean `events.parquet`?"),
        (
            ["--schema", "schema.toml", "--events", "events.parquet"],
            2,
            "--schema and --events both give a schema: leave one of them out",
        ),
        (["--analyze"], 2, "--analyze runs the query: give it --events"),
        (["--save-stats", "s.json"], 2, "--save-stats: nothing was measured: give --events"),
        (["--limit", "-1"], 2, "limit=-1: a number of matches is not negative"),
        (["--param", "least"], 2, "--param least: give it as NAME=VALUE"),
        (["-q", QUERY], 2, "give files or -q TEXT, not both"),
        (["query.sase"], 2, "one query is run at a time, and there are 2 files"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_written(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(*arguments, "-o", "plan.txt") == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sase explain: error: ")
    assert message in err
    assert not Path("plan.txt").exists()
    assert not Path("s.json").exists()


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("EVENT SEQ(A a, C c) WHERE [ad] WITHIN 5", "unknown-attribute", "did you mean `id`?"),
        ("EVENT SEQ(A a, C c) WERE [id]", "", "1 | EVENT SEQ(A a, C c) WERE [id]\n"),
        ("EVENT SEQ(A a, C c) WHERE b.v = 1", "", "`b`"),
    ],
)
def test_a_typo_in_the_query(
    query: str, code: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "-q", query, "--events", "events.parquet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error[{code}")
    assert message in err
    assert "^" in err


def test_no_query_and_a_query_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--events", "events.parquet"]) == 2
    assert "there is no query: name a file, give -q TEXT" in capsys.readouterr().err
    assert main(["explain", "no.sase"]) == 2
    assert "no.sase cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "yaml"], "invalid choice: 'yaml'"),
        (["--verbos"], "'--verbos' means nothing here; did you mean --verbose?"),
        (["--limit", "many"], "invalid int value: 'many'"),
        (["--off"], "expected one argument"),
    ],
)
def test_wrong_options(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        explain(*arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("-o", "no/plan.txt") == 1
    assert "no/plan.txt" in capsys.readouterr().err
    assert measured("--save-stats", "no/stats.json") == 1
    out, err = capsys.readouterr()
    assert "no/stats.json" in err
    assert out == ""


def test_the_form_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--events", "events.parquet", "--output", "count") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "output count: the matches are looked at one by one, since a negative" in told
    assert "a list would have about" in told
    assert explain("--events", "events.parquet", "--output", "count", "--analyze") == 2
    assert 'output="count" is not analyzed' in capsys.readouterr().err


def test_limits_are_of_the_run_of_analyze(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured("--timeout", "5s") == 2
    assert "a command that runs nothing without --analyze" in capsys.readouterr().err
    assert measured("--analyze", "--max-memory", "2GB") == 0
    assert measured("--analyze", "--timeout", "0.000001") == 1
    assert "the run takes longer than its timeout of 1e-06 s" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-o", "--save-stats"])
def test_events_are_not_written_over(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,type\n1,A\n", encoding="utf-8")
    given = ["-q", "EVENT A a", "--events", str(path), option, str(path)]
    assert main(["explain", *given]) == 2
    assert f"{option} {path} would be written over the events" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "ts,type\n1,A\n"

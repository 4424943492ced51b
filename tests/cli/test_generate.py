"""`sase generate`: the streams of the generators in every format, whole or not at all."""

import argparse
import inspect
import io
import os
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

from sase import generate
from sase.cli import generate as command
from sase.cli.main import main
from sase.cli.parser import CommandParser

SMALL = {
    "uniform": (["--events", "50"], generate.uniform_events(events=50)),
    "stock": (["--events", "50"], generate.stock_events(events=50)),
    "retail": (["--items", "20"], generate.retail_events(items=20, thefts=8).table),
    "hadoop": (["--nodes", "1", "--jobs", "1"], generate.hadoop_events(nodes=1, jobs=1).table),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(path: str) -> pa.Table:
    match Path(path).suffix:
        case ".parquet":
            return pyarrow.parquet.read_table(path)
        case ".csv":
            return pyarrow.csv.read_csv(path)
        case ".arrow":
            return pa.ipc.open_file(path).read_all()
    return pyarrow.json.read_json(path)


def plain(table: pa.Table, schema: pa.Schema) -> list[dict]:
    """The rows, once every column has the type that it has without a format."""
    return table.cast(schema).to_pylist()


@pytest.mark.parametrize("stream", SMALL)
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "ndjson", "arrow"])
def test_a_file_holds_the_stream_of_the_generator(stream, suffix, capsys):
    options, expected = SMALL[stream]
    assert main(["generate", stream, *options, "-o", f"events.{suffix}"]) == 0
    types = {"type": pa.string()}
    schema = pa.schema([(each.name, types.get(each.name, each.type)) for each in expected.schema])
    assert plain(read(f"events.{suffix}"), schema) == plain(expected, schema)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{len(expected):,} events written to events.{suffix} in ")
    assert os.listdir() == [f"events.{suffix}"]


def test_without_a_file_it_is_csv(capsys):
    assert main(["generate", "stock", "--events", "3", "--seed", "5"]) == 0
    out, err = capsys.readouterr()
    events = pyarrow.csv.read_csv(io.BytesIO(out.encode()))
    expected = generate.stock_events(events=3, seed=5, type_layout="string")
    assert events.to_pylist() == expected.to_pylist()
    assert err.startswith("3 events written to standard output in ")


def test_every_option_reaches_the_generator():
    """Values that differ from each other and from the defaults, so that none can be mixed up."""
    uniform = "--events 40 --types 300 --domains 7,1k --type-skew .5 --value-skew 2 --seed 1"
    stock = "--events 40 --symbols 3 --prices 9 --volumes 5 --moves .2,.3,.5 --seed 2"
    retail = "--items 9 --thefts 3 --shelved-again 4 --hours 2 --start 2026-02-01 --tags integer"
    for stream, options in ("uniform", uniform), ("stock", stock), ("retail", f"{retail} --seed 3"):
        assert main(["generate", stream, *options.split(), "-o", f"{stream}.arrow"]) == 0
    expected = generate.uniform_events(
        events=40,
        types=300,
        domains=[7, 1000],
        type_skew=0.5,
        value_skew=2,
        seed=1,
        type_layout="int32",
    )
    assert read("uniform.arrow").equals(expected)
    expected = generate.stock_events(
        events=40, symbols=3, prices=9, volumes=5, moves=(0.2, 0.3, 0.5), seed=2
    )
    assert read("stock.arrow").equals(expected)
    shop = generate.retail_events(
        items=9,
        thefts=3,
        shelved_again=4,
        hours=2,
        start=command._moment("2026-02-01T00:00+00:00"),
        tags="integer",
        seed=3,
    )
    assert read("retail.arrow").equals(shop.table)


def test_every_option_of_a_cluster_reaches_the_generator():
    options = "--workload worldcup_s --nodes 1 --hours 2 --jobs 1 --stragglers 5 --unbalanced 6"
    assert main(["generate", "hadoop", *options.split(), "--seed", "9", "-o", "log.arrow"]) == 0
    cluster = generate.hadoop_events(
        workload="worldcup_s", nodes=1, hours=2, jobs=1, stragglers=5, unbalanced=6, seed=9
    )
    assert read("log.arrow").equals(cluster.table)


def test_the_faults_of_a_cluster_are_listed(capsys):
    given = ["generate", "hadoop", "--nodes", "1", "--jobs", "1", "-o", "log.arrow"]
    assert main(given) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[1:] == ["7 faults among them: --answers FILE tells which"]
    assert main([*given, "--answers", "faults.csv"]) == 0
    cluster = generate.hadoop_events(nodes=1, jobs=1)
    listed = {(row["task_id"], row["fault"]) for row in read("faults.csv").to_pylist()}
    assert listed == {
        *((task, "straggler") for task in cluster.stragglers),
        *((task, "unbalanced") for task in cluster.unbalanced),
    }
    assert len(listed) == 7


def options_of(stream: str) -> dict[str, argparse.Action]:
    parser = CommandParser()
    command.configure(parser)
    return {action.dest: action for action in parser.below[stream].arguments}


@pytest.mark.parametrize("stream", SMALL)
def test_options_are_the_parameters_and_have_their_defaults(stream):
    options = options_of(stream)
    parameters = dict(inspect.signature(getattr(generate, f"{stream}_events")).parameters)
    del parameters["type_layout"]
    assert options.keys() - {"help", "output", "answers"} == parameters.keys()
    for name, parameter in parameters.items():
        default, kind = options[name].default, options[name].type or str
        assert default in options[name].help
        if parameter.default is not inspect.Parameter.empty:
            value = kind(default)
            assert (tuple(value) if isinstance(value, list) else value) == parameter.default


def test_the_thefts_are_told_or_where_to_find_them(capsys):
    shop = generate.retail_events(items=20, thefts=3)
    given = ["generate", "retail", "--items", "20", "--thefts", "3", "-o", "shop.csv"]
    assert main(given) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[1:] == ["3 thefts among them: --answers FILE tells which"]
    assert main([*given, "--answers", "stolen.csv"]) == 0
    assert read("stolen.csv")["tag_id"].to_pylist() == sorted(shop.stolen)
    assert capsys.readouterr().err.startswith("3 thefts written to stolen.csv in ")


@pytest.mark.parametrize("example", [stream.example for stream in command.STREAMS])
@pytest.mark.slow
def test_the_examples_of_the_help_run(example, capsys):
    stream = next(each.name for each in command.STREAMS if each.example == example)
    assert main(["generate", stream, *example.split()]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "the following arguments are required: STREAM"),
        ("unifrom", "there is no 'unifrom' here; did you mean uniform?"),
        ("xyzzy --seed 1", "there is no 'xyzzy' here; there are: uniform, stock, retail, hadoop"),
        ("uniform --tpyes 4", "'--tpyes' means nothing here; did you mean --types?"),
        ("uniform --events 3x", "--events: '3x' is not a whole number, such as 5000, 200k or 10M"),
        ("uniform --events -1", "error: --events is -1, and should be at least 0"),
        ("uniform --types 0", "error: --types is 0, and should be at least 1"),
        ("uniform --type-skew nan", "error: --type-skew is nan, and should be 0 for no skew"),
        ("uniform --domains 5,0", "error: a domain is 0, and should be at least 1"),
        ("uniform --domains 5;6", "'5;6' is not a whole number"),
        ("stock --moves 1,2", "error: --moves is (1.0, 2.0), and should be 3 probabilities"),
        ("stock --moves x", "'x' is not three numbers with commas between them"),
        ("retail --items 5", "error: --thefts is 8, and should be at least 0 and at most 5"),
        ("retail --shelved-again 20k", "error: --shelved-again is 20000, and should be"),
        ("retail --start noon", "'noon' is not a time such as 2026-01-01T08:00"),
        ("retail --tags strng", "invalid choice: 'strng' (choose from"),
        ("hadoop --stragglers 61", "--stragglers is 61, and should be at least 0 and at most 60"),
        ("hadoop --unbalanced 7", "--unbalanced is 7, and should be at least 0 and at most 6"),
        ("hadoop --workload twiter", "invalid choice: 'twiter' (choose from"),
        ("uniform -o events", "events: the suffix names the format"),
        ("uniform -o e.parqet", ".ndjson, .json, .arrow; did you mean .parquet?"),
        ("retail --answers a.txt", "a.txt: the suffix names the format"),
        ("retail -o a.csv --answers ./a.csv", "-o and --answers both name a.csv"),
    ],
)
def test_wrong_arguments(arguments, message, capsys):
    try:
        status = main(["generate", *arguments.split()])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out, os.listdir()) == (2, "", [])
    assert message in err.splitlines()[-1]


def test_a_file_that_cannot_be_written(capsys):
    assert main(["generate", "stock", "-o", "nowhere/events.csv"]) == 2
    assert "-o nowhere/events.csv: there is no folder nowhere" in capsys.readouterr().err


def test_what_fails_leaves_the_file_of_before(monkeypatch):
    Path("events.csv").write_text("before")

    def fail(*files):
        raise OSError("the disk has gone")

    monkeypatch.setattr(os, "replace", fail)
    assert main(["generate", "stock", "--events", "9", "-o", "events.csv"]) == 1
    assert Path("events.csv").read_text() == "before"
    assert os.listdir() == ["events.csv"]


def test_a_reader_that_leaves_ends_it_quietly(forked):
    process = forked.begun("generate", "uniform", "--events", "1M")
    assert process.stdout.readline().startswith('"ts","type","attr1"')
    assert (process.left(), process.returncode) == ("", 141)


def test_an_interrupt_leaves_nothing(forked):
    process = forked.begun("generate", "uniform", "--events", "1000M", "-o", "events.csv")
    deadline = time.monotonic() + 60
    while not os.path.exists("events.csv.partial"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err, os.listdir()) == (130, "", [])

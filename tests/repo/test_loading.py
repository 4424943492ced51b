"""The modules that a start of the program loads, seen in a fresh interpreter."""

import json
import subprocess
import sys

import pytest

# Runs a program, then prints the names of the third-party packages that it loaded.
PROBE = """
import json, sys
before = set(sys.modules)
try:
    exec(sys.argv.pop(1))
except SystemExit:
    pass
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
print()
print(json.dumps(sorted(tops - sys.stdlib_module_names - {"sase"})))
"""
EVENTS = "ts,type\n1,A\n2,B\n"
PROGRAM = "import runpy; runpy.run_module('sase', run_name='__main__', alter_sys=True)"


def loaded(program: str, *arguments: str, folder) -> list[str]:
    """The third-party packages that a program loads, which may read `EVENTS`."""
    command = [sys.executable, "-c", PROBE, program, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=True, input=EVENTS
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [
        ("import sase", (), []),
        ("import sase; sase.__version__, dir(sase)", (), []),
        ("import sase.cli.main", (), []),
        ("import sase; sase.PlanError, sase.load_ipython_extension", (), []),
        (PROGRAM, ("--help",), []),
        (PROGRAM, ("--version",), []),
        (PROGRAM, ("chekc",), []),
        (PROGRAM, ("check", "--help"), []),
        (PROGRAM, ("check", "-q", "EVENT A"), ["lark"]),
        (PROGRAM, ("check", "query.sase"), ["lark"]),
        (PROGRAM, ("format", "-"), ["lark"]),
        (PROGRAM, ("why", "--help"), []),
        (PROGRAM, ("shell", "--help"), []),
        (PROGRAM, ("lsp", "--help"), []),
        (PROGRAM, ("completion", "bash"), []),
        (PROGRAM, ("generate", "--help"), []),
        (PROGRAM, ("generate", "retail", "--help"), []),
    ],
)
def test_a_start_loads_only_what_it_needs(program, arguments, expected, tmp_path):
    (tmp_path / "query.sase").write_text("EVENT A a", encoding="utf-8")
    assert loaded(program, *arguments, folder=tmp_path) == expected


# Imports the package, and prints the modules that were not there before.
PACKAGE = """
import sys
before = set(sys.modules)
import sase
print(*set(sys.modules) - before)
"""


def test_the_package_loads_nothing_but_itself():
    done = subprocess.run(
        [sys.executable, "-c", PACKAGE], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) - {"__future__"} == {"sase"}


FRAMES = {"pandas", "polars", "pyspark", "duckdb"}
QUERY = "EVENT SEQ(A a, B b) WITHIN 10"


@pytest.mark.heavy
@pytest.mark.parametrize("command", ["check", "why", "explain", "plans", "compare"])
def test_a_command_over_files_loads_no_frames(command, tmp_path):
    """Arrow would load pandas wherever it is installed, which takes longer than a small file."""
    (tmp_path / "events.csv").write_text(EVENTS, encoding="utf-8")
    found = loaded(PROGRAM, command, "-q", QUERY, "--events", "events.csv", folder=tmp_path)
    assert {"pyarrow", "numpy", "lark"} <= set(found)
    assert set(found).isdisjoint(FRAMES)


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "uniform", "--events", "9", "-o", "made.parquet"),
        ("run", "-q", QUERY, "--follow", "--events", "-"),
    ],
)
def test_nor_do_others(arguments, tmp_path):
    found = loaded(PROGRAM, *arguments, folder=tmp_path)
    assert "pyarrow" in found
    assert set(found).isdisjoint(FRAMES)


# Runs a command as the program does, prints the packages that it loaded, and makes a frame.
FRAME = """
import sys
from sase.cli.main import main
status = main()
print(*{name.partition(".")[0] for name in sys.modules})
import pyarrow
print(status, type(pyarrow.table({"a": [1]}).to_pandas()).__module__.partition(".")[0])
"""


def test_a_run_over_files_loads_no_frames_which_can_be_loaded_after_it(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "events.csv").write_text(EVENTS, encoding="utf-8")
    command = [sys.executable, "-c", FRAME, "run", "-q", QUERY, "--events", "events.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    *_, packages, frame = done.stdout.splitlines()
    assert {"pyarrow", "numpy", "lark"} <= set(packages.split())
    assert set(packages.split()).isdisjoint(FRAMES)
    assert frame == "0 pandas"


# Compiles for a table, loads the modules of a run, and prints the loaded modules; then runs a query
# without series, and prints them again.
TABLES = """
import sys
import sase
sase.compile("EVENT A a", [{"ts": 1, "type": "A"}])
import sase.engine.pipeline.batch
print(*[name for name in sys.modules if name.startswith(("pyarrow.", "sase."))])
assert len(sase.match("EVENT SEQ(A a, B b)", [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}])) == 1
print(*[name for name in sys.modules if name.startswith("sase.engine.")])
"""


@pytest.fixture(scope="module")
def of_tables():
    """The loaded modules before and after the query."""
    command = [sys.executable, "-c", TABLES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


def test_tables_load_no_readers_of_files(of_tables):
    found, _ = of_tables
    # So it sees the loaded modules.
    assert {"pyarrow.compute", "sase.engine.pipeline.batch"} <= found
    assert found & {"pyarrow.dataset", "pyarrow.csv", "pyarrow.json", "pyarrow.parquet"} == set()


def test_a_query_without_series_loads_nothing_that_evaluates_runs(of_tables):
    _, found = of_tables
    assert "sase.engine.operators.sequence_scan" in found
    kleene = ("runs", "merged_runs", "merged_enumeration", "history_counts", "walk_back")
    baselines = ("backtracking", "rereading", "versioned_buffer")
    others = {"match_graph.passes", *(f"baselines.{name}" for name in baselines)}
    kernels = {f"kleene.{name}" for name in kleene} | others
    assert found.isdisjoint(f"sase.engine.kernels.{name}" for name in kernels)
    assert "sase.engine.operators.kleene.run_operator" not in found


def test_the_probe_sees_what_is_loaded(tmp_path):
    assert "pytest" in loaded("import sase, pytest", folder=tmp_path)

"""What a start of the program loads, seen in a fresh interpreter."""

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
PROGRAM = "import runpy; runpy.run_module('sase', run_name='__main__', alter_sys=True)"


def loaded(program: str, *arguments: str, folder) -> list[str]:
    """The third-party packages that a program loads, started in an empty folder."""
    command = [sys.executable, "-c", PROBE, program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [
        ("import sase", (), []),
        ("import sase; sase.__version__, dir(sase)", (), []),
        ("import sase.cli.main", (), []),
        (PROGRAM, ("--help",), []),
        (PROGRAM, ("--version",), []),
        (PROGRAM, ("chekc",), []),
        (PROGRAM, ("check", "--help"), []),
        (PROGRAM, ("check", "-q", "EVENT A"), ["lark"]),
        (PROGRAM, ("why", "--help"), []),
        (PROGRAM, ("completion", "bash"), []),
        (PROGRAM, ("generate", "--help"), []),
        (PROGRAM, ("generate", "retail", "--help"), []),
    ],
)
def test_a_start_loads_only_what_it_needs(program, arguments, expected, tmp_path):
    assert loaded(program, *arguments, folder=tmp_path) == expected


# Compiles for a table, loads what would run it, and prints which readers of files are there.
TABLES = """
import sys
import sase
sase.compile("EVENT A a", [{"ts": 1, "type": "A"}])
import sase.engine.running
print(*[name for name in sys.modules if name.startswith(("pyarrow.", "sase."))])
"""


def test_tables_load_no_readers_of_files():
    command = [sys.executable, "-c", TABLES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert {"pyarrow.compute", "sase.engine.running"} <= found  # so it sees what is loaded
    assert found & {"pyarrow.dataset", "pyarrow.csv", "pyarrow.json", "pyarrow.parquet"} == set()


def test_the_probe_sees_what_is_loaded(tmp_path):
    assert "pytest" in loaded("import sase, pytest", folder=tmp_path)

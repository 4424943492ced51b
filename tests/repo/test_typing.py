"""A type checker sees the true types of the imports of a user."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sase
from tests.repo.source import ROOT

USER = """
from collections.abc import Iterator
from typing import Any, assert_type

import sase
import sase.spark
from sase import DataError, Matches


def alarms(path: str) -> Iterator[Any]:
    try:
        found = sase.match("EVENT SEQ(A a, B b) WITHIN 5", path, seq="#row")
    except DataError as problem:
        assert_type(problem.row, int | None)
        return
    except sase.QueryError as problem:
        assert_type(problem.diagnostics, tuple[sase.Diagnostic, ...])
        raise
    except (sase.TimeLimitError, sase.BudgetError):
        return
    assert_type(found, Matches)
    assert_type(found.report.warnings, tuple[str, ...])
    yield from found.to_pylist()


def push(rows: list[dict[str, object]]) -> sase.Matches:
    plan = sase.compile("EVENT A a", rows, lateness="5 seconds")
    assert_type(plan, sase.Plan)
    matcher = plan.open()
    assert_type(matcher, sase.Matcher)
    assert_type(plan.restore(matcher.snapshot()), sase.Matcher)
    return matcher.push(rows)


assert_type(sase.match("EVENT A a", "e.csv", output="count"), sase.MatchCount)
assert_type(sase.match("EVENT A a", "e.csv", output="compressed"), sase.CompressedMatches)
assert_type(sase.explain("EVENT A a", schema=sase.Schema()), sase.Explanation)
assert_type(sase.why("EVENT A a", "e.csv"), sase.WhyNot)
assert_type(sase.compare("EVENT A a", "e.csv"), sase.Comparison)
"""
# Its mistakes line by line.
WRONG = {
    'sase.mtach("EVENT A a", [])': "attr-defined",
    "sase.compile(7, [])": "arg-type",
    'sase.compile("EVENT A a", [], speed=1)': "call-arg",
    'sase.compile("EVENT A a", []).run([]).rwos': "attr-defined",
    'sase.spark.pattern("EVENT A a", speed=1)': "call-arg",
}


# As for a package that is installed: mypy tells no mistakes in it and skips bodies of functions.
INSTALLED = "--strict", "--no-pretty", "--follow-imports=silent"
# No types of other packages, which take most of the time to read. Its cache is kept beside that of
# `make lint`.
ALONE = "--no-site-packages", f"--cache-dir={ROOT / '.mypy_cache' / 'of_users'}"


def checked(folder, *options, **texts):
    """The lines of mypy for files of a user by their names, which are in no folder of ours."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    files = [str(folder / f"{name}.py") for name in texts]
    command = [sys.executable, "-m", "mypy", *INSTALLED, *options]
    done = subprocess.run([*command, *files], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = [line.partition(".py:") for line in done.stdout.splitlines() if ".py:" in line]
    return {name: [line for file, _, line in told if Path(file).name == name] for name in texts}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The lines of one run for both files."""
    names = ["import sase", *(f"reveal_type(sase.{name})" for name in sase.__all__)]
    return checked(
        tmp_path_factory.mktemp("user"),
        *ALONE,
        wrong="\n".join(["import sase, sase.spark", *WRONG]),
        names="\n".join(names),
    )


@pytest.mark.heavy
@pytest.mark.slow
def test_a_file_of_a_user(tmp_path):
    assert checked(tmp_path, f"--cache-dir={tmp_path / 'cache'}", user=USER) == {"user": []}


@pytest.mark.slow
def test_what_is_wrong_in_it_is_found(found):
    expected = dict(enumerate(WRONG.values(), 2))
    codes = {
        int(line.split(":")[0]): re.findall(r"\[([a-z-]+)\]$", line)[0]
        for line in found["wrong"]
        if ": error: " in line
    }
    assert codes == expected


@pytest.mark.slow
def test_no_public_name_is_any_object(found):
    told = found["names"]
    assert len(told) == len(sase.__all__)
    revealed = {line.split("Revealed type is ")[1].strip('"') for line in told}
    assert revealed.isdisjoint({"builtins.object", "Any", "object"})

"""A type checker sees the true types of the imports of a user."""

import re
import subprocess
import sys

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


def checked(folder, text):
    """The output of mypy for a file of a user, which is in no folder of ours."""
    path = folder / "user.py"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line.split("user.py:", 1)[1] for line in done.stdout.splitlines() if "user.py:" in line]


@pytest.mark.heavy
@pytest.mark.slow
def test_a_file_of_a_user(tmp_path):
    assert checked(tmp_path, USER) == []


@pytest.mark.slow
def test_what_is_wrong_in_it_is_found(tmp_path):
    found = checked(tmp_path, "\n".join(["import sase, sase.spark", *WRONG]))
    expected = dict(enumerate(WRONG.values(), 2))
    codes = {
        int(line.split(":")[0]): re.findall(r"\[([a-z-]+)\]$", line)[0]
        for line in found
        if ": error: " in line
    }
    assert codes == expected


@pytest.mark.slow
def test_no_public_name_is_any_object(tmp_path):
    names = sase.__all__
    found = checked(
        tmp_path, "\n".join(["import sase", *(f"reveal_type(sase.{n})" for n in names)])
    )
    assert len(found) == len(names)
    revealed = {line.split("Revealed type is ")[1].strip('"') for line in found}
    assert revealed.isdisjoint({"builtins.object", "Any", "object"})

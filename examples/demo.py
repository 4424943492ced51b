"""A tour: find the thefts in a day of readings, look at the plan, then check and
format the papers' queries, and read the messages of three broken ones. Every line that begins with
`$` is a command that you can type yourself."""

from __future__ import annotations

import csv
import os
import shlex
import sys
import tempfile
from pathlib import Path

import sase
from sase.cli.main import main

HERE = Path(__file__).parent
BASE = Path.cwd()


def show(title: str, *arguments: str, expected: int = 0) -> None:
    """Run a command as a user would, and stop if it does not end as it should."""
    print(f"\n# {title}\n$ sase {shlex.join(arguments)}", flush=True)
    status = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    if status != expected:
        sys.exit(f"the demo expected exit status {expected} and got {status}")


def relative(path: Path) -> str:
    """A path from where we are."""
    return str(path.relative_to(BASE)) if path.is_relative_to(BASE) else str(path)


def queries(folder: str) -> list[str]:
    """The queries of a folder."""
    return [relative(path) for path in sorted((HERE / folder).glob("*.sase"))]


def column(path: str, name: str) -> set[str]:
    """The values of a column of a CSV file."""
    with open(path, encoding="utf-8", newline="") as file:
        return {row[name] for row in csv.DictReader(file)}


def find_thefts() -> None:
    """Make a day of readings with thefts among them, find those, and compare."""
    readings, answers, thefts = "readings.parquet", "answers.csv", "thefts.csv"
    query = (HERE / "queries" / "shoplifting.sase").resolve()
    made = ["generate", "retail", "--items", "200k", "--thefts", "8", "-o", readings]
    show("A day of readings in a shop", *made, "--answers", answers)
    show(
        "Who left with an item without passing the counter?",
        "run",
        str(query),
        "--events",
        readings,
    )
    show("The same to a file", "run", str(query), "--events", readings, "-o", thefts)
    stolen, found = column(answers, "tag_id"), column(thefts, "x_tag_id")
    print(f"\n{len(found & stolen)} of {len(stolen)} thefts were found, {len(found - stolen)} more")
    if found != stolen:
        sys.exit(f"the demo expected {stolen} and found {found}")
    print("\n# The plan, from the result down to the events")
    print(sase.compile(query.read_text(encoding="utf-8"), readings))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    find_thefts()
    os.chdir(BASE)
show("The queries that the papers print, checked", "check", *queries("queries"))
show("The same in their standard layout", "format", *queries("queries"))
for number, path in enumerate(queries("broken"), 1):
    schema = relative(HERE / "retail.toml")
    show(f"Broken query {number} of 3", "check", "--schema", schema, path, expected=2)
print("\nNext: write a query to a file and run  .venv/bin/sase run FILE --events …")

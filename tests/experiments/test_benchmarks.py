"""The page of benchmarks is made of the committed results, and names all that is faster."""

import csv
import re
import shutil

import pytest

from experiments.core import benchmarks
from experiments.core.benchmarks import FIRST, PAGE
from experiments.core.running import PLACES
from experiments.figures import cells, many_keys
from experiments.rivals import results as of_rivals
from experiments.rivals.calls import CALLS, CELLS, MANY_KEYS
from experiments.rivals.catalogue import OURS, rivals
from experiments.rivals.results import Place
from experiments.rivals.streams import CONTESTS

FOLDER = PLACES["full"]
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_of_the_committed_results():
    assert benchmarks.page(FOLDER).splitlines() == TEXT.splitlines()


def parts_of(text):
    """By title the text of each section."""
    return dict(part.split("\n", 1) for part in text.split("\n## ")[1:])


def test_each_table_names_its_commit_and_machine():
    first, *others = parts_of(TEXT).values()
    assert len(others) >= 10 and "| times as long |" in first
    for part in others:
        told = re.search(r"^Measured \d{4}-\d\d-\d\d.* on .+ cores", part, re.MULTILINE)
        assert told and re.search(r"commit [0-9a-f]{10}\b", part)
        assert part.count("| --- |") >= 1


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_way_that_is_faster_is_named_first(call):
    """By the lines of the file: no helper of the page is used."""
    lines = of_rivals.read(call.path(FOLDER))
    first = parts_of(TEXT)["Where SASE is not first"]
    for cell, threads in {(line.cell, line.threads) for line in lines}:
        here = [each for each in lines if (each.cell, each.threads) == (cell, threads)]
        times = {}
        for line in here:
            if line.counts:
                times.setdefault((line.rival, line.title, line.form), []).append(
                    float(line.seconds)
                )
        medians = {way: sorted(each) for way, each in times.items()}
        medians = {
            way: (each[(len(each) - 1) // 2] + each[len(each) // 2]) / 2
            for way, each in medians.items()
        }
        ours = next(value for (rival, *_), value in medians.items() if rival == OURS)
        for (rival, title, _), value in medians.items():
            if rival != OURS and value < ours:
                row = rf"^\| {re.escape(cell)}, threads: {threads} \| {re.escape(title)}"
                assert re.search(row, first, re.MULTILINE), (cell, title)


def changed(folder, name, keep, column, factor):
    """Multiply a column of the rows of a file."""
    path = folder / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    place = header.index(column)
    for row in rows:
        if keep(dict(zip(header, row, strict=True))) and row[place]:
            row[place] = str(float(row[place]) * factor)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def test_by_other_results_nothing_or_everything_is_ahead(tmp_path):
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, tmp_path)
    for call in CALLS:
        changed(tmp_path, call.name, lambda row: row["rival"] == OURS, "seconds", 1e-3)
    changed(tmp_path, "cells", lambda row: row["way"] == cells.RUN, "wall_s", 1e-3)
    changed(tmp_path, "many_keys", lambda row: row["way"] == "one thread", "cpu_s", 1e-3)
    text = benchmarks.page(tmp_path)
    assert FIRST in text and "times as long |" not in text
    changed(tmp_path, "cells", lambda row: row["way"] == cells.DUCKDB, "wall_s", 1e-6)
    changed(tmp_path, "many_keys", lambda row: row["way"] == many_keys.C, "cpu_s", 1e-6)
    first = parts_of(benchmarks.page(tmp_path))["Where SASE is not first"]
    assert first.count(f"| {cells.DUCKDB} |") == 7
    assert first.count(f"| {many_keys.C} |") == 3


def test_a_folder_without_results_has_no_section(tmp_path):
    assert list(parts_of(benchmarks.page(tmp_path))) == ["Where SASE is not first"]


def test_the_calls_have_every_cell_and_every_system():
    assert sorted((*CELLS, *MANY_KEYS)) == sorted(contest.name for contest in CONTESTS)
    assert {name for call in CALLS for name in call.rivals} == set(rivals())


def test_a_comparison_is_complete_of_its_commit_and_systems(tmp_path):
    call, known = CALLS[0], rivals()
    there = [known[name] for name in call.rivals]
    path = call.path(FOLDER)
    line = of_rivals.read(path)[0]
    place = Place("2026-01-01", line.machine, line.cores, line.commit)
    assert call.is_complete(there, path, place)
    assert not call.is_complete([*there, known["flink"]], path, place)
    assert not call.is_complete(there, path, Place("", line.machine, "2", "0123456789"))
    assert not call.is_complete(there, tmp_path / "none.csv", place)
    half = tmp_path / "half.csv"
    of_rivals.write(half, [each for each in of_rivals.read(path) if each.cell != "Q1/D1"])
    assert not call.is_complete(there, half, place)

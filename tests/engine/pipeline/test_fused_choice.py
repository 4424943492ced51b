"""Which fused paths execute a plan: chosen in one place, by option, and shown by EXPLAIN."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.fused.scan import FusedScan
from sase.engine.report import FusedUse
from sase.planning import counting
from sase.planning.declined import NO_RUNS, NO_SCAN, NO_TREE
from sase.planning.explain.driven import paths_of
from sase.planning.physical.drive import NARROWED, Feed
from sase.planning.physical.drives import DRIVES
from tests.engine.pipeline.unfused import unfused

COUNT = 400
EVENTS = pa.table({
    "ts": range(COUNT), "type": ["A", "A", "B", "C"] * (COUNT // 4),
    "id": [n % 3 for n in range(COUNT)], "v": [n * 7 % 11 for n in range(COUNT)],
})  # fmt: skip
ENCODED = EVENTS.set_column(1, "type", EVENTS["type"].dictionary_encode()).combine_chunks()
PLAIN = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9"
SHARED = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } WITHIN 9"
LINES = SHARED.replace("[id]", "[id] AND a[i].v > a[i-1].v")
WALKED = SHARED.replace("next", "any")
# A query, and the path that executes it.
PATHS = [
    (PLAIN, "fused scan"), (SHARED, "shared lines"), (LINES, "fused lines"),
    (WALKED, "fused walks"),
]  # fmt: skip
# The reasons of paths for the other kind of plans.
NONE, OTHERS, WALKS = ("no runs",) * 3, "no sequence scan", "no matches are walked"
# A query, and the answer of each path to it: empty if it executes the plan, or words of the reason.
SAID = {
    PLAIN: ("", *NONE, ""),
    SHARED: (OTHERS, "", "shared stacks", WALKS, OTHERS),
    LINES: (OTHERS, "compared with others", "", WALKS, OTHERS),
    "EVENT SEQ(A a, B b) WHERE [id] AND a.v > 3 WITHIN 9": ("conditions", *NONE, "conditions"),
    "EVENT SEQ(A a, B b) WHERE [id] AND a.v > b.v WITHIN 9": (
        "construction tests", *NONE, "construction tests",
    ),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.v AS v": ("output", *NONE, "output"),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 LIMIT 3": ("LIMIT", *NONE, "LIMIT"),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 EVENTS PER PARTITION": ("ranked", *NONE, "ranked"),
    WALKED: (OTHERS, "evaluation", "evaluation", "", OTHERS),
    WALKED + " LIMIT 3": (OTHERS, "evaluation", "evaluation", "LIMIT", OTHERS),
    WALKED.replace("[id]", "[id] AND a[i].v > a[i-1].v"): (
        OTHERS, "evaluation", "evaluation", "compared with others", OTHERS,
    ),
    WALKED.replace("[id]", "[id] AND b.v > a[i].v"): (
        OTHERS, "evaluation", "evaluation", "compared with others", OTHERS,
    ),
    WALKED.replace("[id]", "[id] AND a[1].v > 3"): (
        OTHERS, "evaluation", "evaluation", "first event of a series", OTHERS,
    ),
    WALKED.replace("[id]", "[id] AND a[i].v > 3 AND b.v > 3"): (
        OTHERS, "evaluation", "evaluation", "", OTHERS,
    ),
    WALKED.replace("A+", "A*"): (OTHERS, "evaluation", "evaluation", "absent", OTHERS),
    SHARED + " LIMIT 3": (OTHERS, "LIMIT", "LIMIT", WALKS, OTHERS),
    SHARED.replace("skip_till_next_match { [id] }", "strict_contiguity { TRUE }"): (
        OTHERS, "the strategy is strict_contiguity", "", WALKS, OTHERS,
    ),
    SHARED.replace("A+", "A{1,2}"): (OTHERS, "greatest length", "", WALKS, OTHERS),
    SHARED.replace("A+ a[], B b", "A a, B+ b[]"): (OTHERS, "last component", "", WALKS, OTHERS),
    SHARED.replace("B b", "ANY(A, B) b"): (OTHERS, "fits several", "", WALKS, OTHERS),
    SHARED.replace(" WITHIN 9", ""): (OTHERS, "", "shared stacks", WALKS, OTHERS),
    SHARED + " EVENTS PER PARTITION": (OTHERS, "of a partition", "", WALKS, OTHERS),
}  # fmt: skip


def said(plan: sase.Plan) -> list[str | None]:
    return [path.declined for path in paths_of(plan.engine)]


@pytest.mark.parametrize("text", SAID)
def test_each_path_executes_a_plan_or_says_why_not(text: str) -> None:
    *others, of_trees = said(sase.compile(text, EVENTS))
    assert of_trees == (NO_SCAN if "[]" in text else NO_TREE).reason
    for declined, words in zip(others, SAID[text], strict=True):
        assert (declined is None) == (words == ""), declined
        assert words in (declined or "")


def test_branches_are_not_said_to_be_runs() -> None:
    text = "EVENT SEQ(A a, B b) OR SEQ(A a, C d) WITHIN 9"
    narrowed = said(sase.compile(text, EVENTS, plan="match_window_fpc"))
    assert set(narrowed) == {NARROWED.reason}
    *_, of_trees = said(sase.compile(text, EVENTS, plan="tree_bushy"))
    assert "each branch" in (of_trees or "")
    *_, of_trees = said(sase.compile(text, EVENTS))
    assert of_trees == NO_TREE.reason


@pytest.mark.parametrize("text", SAID)
def test_what_is_shown_is_what_is_opened(text: str) -> None:
    plan = sase.compile(text, EVENTS)
    for shown, streaming in ((plan, False), (plan, True), (unfused(plan), True)):
        pipeline = open_pipeline(shown.engine, streaming=streaming)
        paths = {path.feed for path in paths_of(shown.engine) if path.declined is None}
        assert (pipeline.pushed_path is not None) == (streaming and Feed.PUSHED in paths)
        if not streaming:
            assert (pipeline.loaded_path is not None) == (Feed.LOADED in paths)


@pytest.mark.parametrize("text", SAID)
def test_without_fused_paths_the_result_is_the_same(text: str) -> None:
    plan = sase.compile(text, EVENTS)
    rows = plan.run(EVENTS).rows
    assert len(rows)
    assert unfused(plan).run(EVENTS).rows == rows
    assert unfused(plan).run(EVENTS).report.fused == ()
    assert sase.match(text, EVENTS, plan="unfused").rows == rows
    assert said(sase.compile(text, EVENTS, plan="unfused")) == ["fused paths are switched off"] * 6


def test_a_run_counts_what_a_path_took() -> None:
    ids = pa.array([None if n == 9 else n % 3 for n in range(COUNT)])
    holes = EVENTS.set_column(2, "id", ids)
    for text, name in PATHS:
        matches = sase.match(text, EVENTS)
        assert matches.report.fused == (FusedUse(name, COUNT, matches=len(matches)),)
        (use,) = sase.match(text, holes).report.fused
        assert (use.path, use.events, use.matches) == (name, 0, 0)
        assert "NULL" in (use.refused or "")


def test_more_events_than_32_bits_number_keep_runs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is known when they are there; simultaneous events do not matter."""
    tied = EVENTS.set_column(0, "ts", pa.array([number // 2 for number in range(COUNT)]))
    matches = sase.match(SHARED, tied)
    (use,) = matches.report.fused
    assert (use.path, use.events, use.refused) == ("shared lines", COUNT, None)
    assert matches.rows == sase.match(SHARED, tied, plan="unfused").rows
    monkeypatch.setattr("sase.engine.pipeline.fused.lines.MOST_NUMBERS", COUNT // 5)
    few = sase.match(SHARED, tied)
    assert few.rows == matches.rows
    shared, apart = few.report.fused
    assert (shared.path, shared.events, shared.matches) == ("shared lines", 0, 0)
    assert "fewer than" in (shared.refused or "")
    assert apart == FusedUse("fused lines", COUNT, matches=len(matches))
    for threads in (2, 5):
        found = sase.compile(SHARED, tied).run(tied, threads=threads)
        assert found.rows == matches.rows
        assert found.report.fused == few.report.fused


@pytest.mark.parametrize("text", [PLAIN, SHARED, LINES])
def test_no_path_refuses_what_is_not_there(text: str) -> None:
    assert sase.match(text, EVENTS.slice(0, 0)).report.fused == ()


def test_pushed_batches_are_counted_too() -> None:
    matcher = sase.compile(PLAIN, EVENTS.schema).open()
    for batch in ENCODED.to_batches(max_chunksize=100):
        matcher.push(batch)
    uses = {use.path: use.events for use in matcher.finish().report.fused}
    assert sum(uses.values()) <= COUNT
    assert uses["fused push"] >= 300


TEXT_KEYS = ENCODED.set_column(2, "id", pa.array([f"k{n % 3}" for n in range(COUNT)]))
NULL_KEYS = ENCODED.set_column(2, "id", pa.array([n % 3 or None for n in range(COUNT)]))
LEFT = {  # batches, and words of the reason why they are left to the operators
    "plain types": (EVENTS.to_batches(max_chunksize=100), "in one dictionary"),
    "text keys": (TEXT_KEYS.to_batches(max_chunksize=100), "as whole numbers"),
    "null keys": (NULL_KEYS.to_batches(max_chunksize=100), "NULL"),
    "large batches": (pa.table({
        "ts": range(40_000), "type": pa.array(["A", "B"] * 20_000).dictionary_encode(),
        "id": [0] * 40_000,
    }).combine_chunks().to_batches(max_chunksize=20_000), "at most 16,384"),
    "dicts": ([EVENTS.slice(n, 5).to_pylist() for n in (0, 5)], "of Arrow"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_why_pushed_batches_are_left_to_the_operators(name: str) -> None:
    batches, words = LEFT[name]
    matcher = sase.compile(PLAIN, EVENTS.schema if name == "dicts" else batches[0].schema).open()
    for batch in batches:
        matcher.push(batch)
    uses = {use.path: use for use in matcher.finish().report.fused}
    assert uses["fused push"].events == 0
    assert words in (uses["fused push"].refused or "")


def test_explain_says_why_pushed_batches_are_left() -> None:
    shown = sase.explain(PLAIN, TEXT_KEYS, analyze=True, pushed=50)
    told = " ".join(str(shown).split())
    assert "pushed batches by the fused push, which took 0" in told
    assert "and left the others, of which it does not hold that types come in one" in told


def explained(text: str, **how: Any) -> Any:
    return sase.explain(text, EVENTS, **how)


def test_analyze_counts_shared_runs_one_by_one() -> None:
    """By another path than a run without it; each format says which, and why not the other."""
    (use,) = sase.match(SHARED, EVENTS).report.fused
    found, analyzed = explained(SHARED), explained(SHARED, analyze=True)
    why, count = (
        "ANALYZE counts runs one by one",
        f"took {COUNT} events and found {use.matches} matches",
    )
    for told, path, other, reason in (
        (found, "shared lines", "fused lines", "runs are kept in shared stacks"),
        (analyzed, "fused lines", "shared lines", why),
    ):
        paths = {each["path"]: each for each in told.to_dict()["physical"]}
        assert paths[path]["declined"] is None
        assert (paths[other]["declined"], paths[other]["events"]) == (reason, None)
        assert f"driven: loaded events by the {path}" in str(told)
        assert f"declined {other}: {reason}" in str(told)
        for form in (told.to_dot(), told.to_html()):
            assert f"by the {path}" in form and f"{other}: {reason}" in form
    measured = {path["path"]: path for path in analyzed.to_dict()["physical"]}["fused lines"]
    assert (measured["events"], measured["matches"]) == (COUNT, use.matches)
    assert count in " ".join(str(analyzed).split())


def test_explain_shows_the_paths_in_every_format() -> None:
    taken, refused = explained(PLAIN), explained(PLAIN + " LIMIT 3")
    keys = "keys are whole numbers or texts of one dictionary, none NULL - keys lie close"
    reason, told = "results end at LIMIT", " ".join(str(taken).split())
    assert f"driven: loaded events by the fused scan if - {keys} together or come again" in told
    assert "else block by block pushed batches by the fused push if - batches are of Arrow" in told
    assert "fused lines" not in str(taken)
    every = " ".join(taken.to_text(verbose=True).split())
    assert "shared lines, fused lines, fused walks: the plan has no runs" in every
    assert "driven: block by block\n" in str(refused)
    assert f"declined fused scan, fused push: {reason}" in str(refused).replace("\n    ", " ")
    paths = {path["path"]: path for path in refused.to_dict()["physical"]}
    alone = [kind.name for kind in DRIVES if kind.feed is not Feed.SHARED]
    assert [*paths] == alone
    assert paths["fused scan"]["declined"] == reason
    assert paths["fused scan"]["feed"] == "loaded"
    assert 'label="fused scan, fused push"' in taken.to_dot()
    assert "cluster_fused" not in refused.to_dot()
    assert reason in refused.to_dot()
    for page, words in ((taken.to_html(), "by the fused scan"), (refused.to_html(), reason)):
        assert words in page


def rows_counted(plan: sase.Plan, pushed: int | None) -> tuple[Any, list[Any]]:
    """The figures of a run without ANALYZE by its first fused path, and the operators' counters."""
    if pushed is None:
        report = plan.run(EVENTS, threads=1).report
        return report.fused[0], list(report.counters)
    matcher = plan.open()
    for batch in ENCODED.to_batches(max_chunksize=pushed):
        matcher.push(batch)
    report = matcher.finish().report
    return max(report.fused, key=lambda use: use.path == "fused push"), list(report.counters)


@pytest.mark.parametrize(
    ("name", "text", "pushed"),
    [("fused scan", PLAIN, None), ("fused lines", LINES, None), ("fused push", PLAIN, 50)],
)
def test_analyze_counts_what_a_path_does(name: str, text: str, pushed: int | None) -> None:
    """By the same path as without, in all four formats: its events, matches and time."""
    events = EVENTS if pushed is None else ENCODED
    plain, counters = rows_counted(sase.compile(text, events.schema), pushed)
    assert plain.path == name and plain.nanoseconds is None
    assert plain.events == (COUNT if pushed is None else COUNT - pushed)
    found = sase.explain(text, events, analyze=True, pushed=pushed)
    (use,) = [path for path in found.to_dict()["physical"] if path["path"] == name]
    assert (use["events"], use["matches"]) == (plain.events, plain.matches)
    assert plain.matches > 50
    assert use["declined"] is use["refused"] is None
    assert 0 < use["nanoseconds"] <= found.nanoseconds
    words = f"the {name}, which took {plain.events} events and found {plain.matches} matches in "
    text_form, dot = str(found).replace("\n  ", " "), found.to_dot()
    assert words in text_form and words in dot and words in found.to_html()
    assert f'label="{name}' in dot or f", {name}" in dot
    assert counted_by_operators(found) == counted_by_operators(
        sase.explain(text, events, analyze=True, pushed=pushed, plan="unfused")
    )
    for operator, counted in counters:
        measured = {o["name"]: o["actual"] for o in found.to_dict()["operators"]}[operator]
        flows = {"events": "admitted", "pushed": "rows_out", "out": "rows_out"}
        for key, count in counted.items():
            if key in flows and isinstance(count, int):
                shown = {**measured["counters"], **measured}[flows[key]]
                assert shown == count


def counted_by_operators(found: Any) -> list[Any]:
    """The counters of each operator, but for bytes, which depend on the batches."""
    return [
        (
            operator["name"],
            operator["actual"]["rows_in"],
            operator["actual"]["rows_out"],
            {k: v for k, v in operator["actual"]["counters"].items() if "bytes" not in k},
        )
        for operator in found.to_dict()["operators"]
    ]


@pytest.mark.parametrize("text", [PLAIN, LINES, SHARED.replace("[id]", "[id] AND a[i].v > 3")])
def test_analyze_times_every_operator_of_a_path(text: str) -> None:
    (use,), operators = [
        [path for path in explained(text, analyze=True).to_dict()["physical"] if path["events"]],
        explained(text, analyze=True).to_dict()["operators"],
    ]
    times = [operator["actual"]["nanoseconds"] for operator in operators]
    assert all(spent > 0 for spent in times)
    assert use["events"] == COUNT


def test_pushed_needs_analyze_and_a_number() -> None:
    for how in ({"pushed": 5}, {"pushed": 0, "analyze": True}):
        with pytest.raises(sase.PlanError, match="pushed="):
            explained(PLAIN, **how)
    with pytest.raises(sase.PlanError, match="push one table of all"):
        tables = {"A": EVENTS.drop_columns("type"), "B": EVENTS.drop_columns("type")}
        sase.explain(PLAIN, tables, analyze=True, pushed=5)


def test_pushed_rows_and_files_are_a_stream(tmp_path: Any) -> None:
    rows, path = EVENTS.to_pylist(), tmp_path / "events.parquet"
    pyarrow.parquet.write_table(ENCODED, path)
    count = len(sase.match(PLAIN, EVENTS))
    for events in (rows, str(path)):
        found = sase.explain(PLAIN, events, analyze=True, pushed=64)
        assert found.results == count
        assert {path["feed"] for path in found.to_dict()["physical"]} == {"loaded", "pushed"}


def test_threads_count_each_event_once() -> None:
    """Also those around a slice, which two threads see, and their matches."""
    matches = sase.match(PLAIN, EVENTS)
    plan = sase.compile(PLAIN, EVENTS)
    for threads in (2, 3, 7):
        found = plan.run(EVENTS, threads=threads)
        assert found.rows == matches.rows
        assert found.report.fused == (FusedUse("fused scan", COUNT, matches=len(matches)),)


@pytest.mark.parametrize("text", SAID)
def test_checkpoints_pass_between_fused_and_unfused(text: str) -> None:
    """At any push: the state of operators is the same by whatever path it was written."""
    fused = sase.compile(text, ENCODED.schema)
    batches = ENCODED.to_batches(max_chunksize=100)
    expected = pushed_by([fused], batches)
    assert len(expected) > 2
    for first, second in ((fused, unfused(fused)), (unfused(fused), fused)):
        # Each gives its state to each: to the other one, and to one like itself.
        assert pushed_by([first, second, second, first, second], batches) == expected


def pushed_by(plans: list[sase.Plan], batches: list[Any]) -> list[Any]:
    """The matches of pushes; plans take turns to restore the state of the one before."""
    matcher, found = plans[0].open(), list[Any]()
    for number, batch in enumerate(batches, 1):
        if len(matches := matcher.push(batch)):
            found += [tuple(row.values()) for row in matches.rows.to_pylist()]
        matcher = plans[number % len(plans)].restore(matcher.snapshot())
    return found + [tuple(row.values()) for row in matcher.finish().rows.to_pylist()]


@pytest.mark.parametrize("output", ["count", "compressed"])
def test_a_form_that_lists_is_executed_by_them(
    output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under skip till next match no set is counted; of any match one is, after a few are listed."""
    monkeypatch.setattr(counting, "ENOUGH", 1)
    assert explained(SHARED, output=output).to_dict()["physical"][1]["declined"] is None
    assert [use.path for use in sase.match(SHARED, EVENTS, output="count").report.fused] == [
        "shared lines"
    ]
    counted = "EVENT SEQ(A+ a[], B b)"
    assert bool(explained(counted, output=output).to_dict()["physical"]) == (output == "count")
    assert sase.match(counted, EVENTS, output="count").report.fused == ()


@pytest.mark.parametrize("pushed", [None, 50])
def test_what_was_measured_is_json(pushed: int | None) -> None:
    """Some path took all events; lines decline those that are pushed."""
    for text, number in ((PLAIN, 0), (LINES, 2)):
        told = json.loads(explained(text, analyze=True, pushed=pushed).to_json())["physical"]
        takes = text is PLAIN or pushed is None
        assert (told[number]["declined"] is None) == takes
        assert [each["events"] for each in told if each["events"]] == [COUNT] * takes


def test_why_runs_as_the_recipe_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its relaxed conditions, too."""
    taken, run = list[object](), FusedScan.run

    def watched(path: FusedScan, events: Any) -> Any:
        taken.append(path)
        return run(path, events)

    monkeypatch.setattr(FusedScan, "run", watched)
    nothing = "EVENT SEQ(C c, B b, A a) WHERE [id] WITHIN 1"
    said = [str(sase.why(nothing, EVENTS, plan=plan)) for plan in ("unfused", "optimized")]
    assert said[0] == said[1]
    assert taken
    taken.clear()
    sase.why(nothing, EVENTS, plan="unfused")
    assert not taken


def test_explain_says_what_executes_files_that_are_read_in_pieces(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the run of them does: the scan takes pieces, and lines need all events."""
    pyarrow.parquet.write_table(ENCODED, tmp_path / "e.parquet")
    monkeypatch.setattr("sase.engine.pipeline.batch.MOST_HELD", -1)
    in_pieces = "events come in pieces"
    for text, lines in ((PLAIN, NO_RUNS.reason), (LINES, in_pieces), (SHARED, in_pieces)):
        found = sase.explain(text, tmp_path).physical[:3]
        declined = [each.declined for each in found]
        measured = sase.explain(text, tmp_path, analyze=True).physical
        assert [each.declined for each in measured[:3]] == declined
        used = sase.match(text, tmp_path).report.fused
        assert [use.path for use in used] == [path.name for path in found if not path.declined]
        assert declined[1:] == [lines, lines]

"""Which fused paths execute a plan: chosen in one place, by option, and shown by EXPLAIN."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.pipeline.fused.choose import FUSED, open_pipeline, physical_plan
from sase.planning.physical import Feed
from tests.engine.pipeline.unfused import unfused

COUNT = 400
EVENTS = pa.table({
    "ts": range(COUNT), "type": ["A", "A", "B", "C"] * (COUNT // 4),
    "id": [n % 3 for n in range(COUNT)], "v": [n * 7 % 11 for n in range(COUNT)],
})  # fmt: skip
PLAIN = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9"
LINES = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } WITHIN 9"
# A query, and what each path says of it: empty if it executes the plan, or words of the reason.
SAID = {
    PLAIN: ("", "no runs", ""),
    LINES: ("no sequence scan", "", "no sequence scan"),
    "EVENT SEQ(A a, B b) WHERE [id] AND a.v > 3 WITHIN 9": ("conditions", "no runs", "conditions"),
    "EVENT SEQ(A a, B b) WHERE [id] AND a.v > b.v WITHIN 9": (
        "construction tests", "no runs", "construction tests",
    ),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.v AS v": ("output", "no runs", "output"),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 LIMIT 3": ("LIMIT", "no runs", "LIMIT"),
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 EVENTS PER PARTITION": ("ranked", "no runs", "ranked"),
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_any_match { [id] } WITHIN 9": (
        "no sequence scan", "evaluation", "no sequence scan",
    ),
    LINES + " LIMIT 3": ("no sequence scan", "LIMIT", "no sequence scan"),
}  # fmt: skip


def said(plan: sase.Plan) -> list[str | None]:
    return [path.declined for path in physical_plan(plan.engine)]


@pytest.mark.parametrize("text", SAID)
def test_each_path_executes_a_plan_or_says_why_not(text: str) -> None:
    for declined, words in zip(said(sase.compile(text, EVENTS)), SAID[text], strict=True):
        assert (declined is None) == (words == ""), declined
        assert words in (declined or "")


@pytest.mark.parametrize("text", SAID)
def test_what_is_shown_is_what_is_opened(text: str) -> None:
    plan = sase.compile(text, EVENTS)
    for shown, streaming in ((plan, False), (plan, True), (unfused(plan), True)):
        pipeline = open_pipeline(shown.engine, streaming=streaming)
        paths = {path.feed for path in physical_plan(shown.engine) if path.declined is None}
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
    assert said(sase.compile(text, EVENTS, plan="unfused")) == ["fused paths are switched off"] * 3


def test_a_run_counts_what_a_path_took() -> None:
    ids = pa.array([None if n == 9 else n % 3 for n in range(COUNT)])
    holes = EVENTS.set_column(2, "id", ids)
    for text, name in ((PLAIN, "fused scan"), (LINES, "fused lines")):
        assert sase.match(text, EVENTS).report.fused == ((name, COUNT, None),)
        ((path, events, refused),) = sase.match(text, holes).report.fused
        assert (path, events) == (name, 0)
        assert "NULL" in (refused or "")


@pytest.mark.parametrize("text", [PLAIN, LINES])
def test_no_path_refuses_what_is_not_there(text: str) -> None:
    assert sase.match(text, EVENTS.slice(0, 0)).report.fused == ()


def test_pushed_batches_are_counted_too() -> None:
    matcher = sase.compile(PLAIN, EVENTS.schema).open()
    typed = EVENTS.set_column(1, "type", EVENTS["type"].dictionary_encode())
    for batch in typed.combine_chunks().to_batches(max_chunksize=100):
        matcher.push(batch)
    uses = {use.path: use.events for use in matcher.finish().report.fused}
    assert sum(uses.values()) <= COUNT
    assert uses["fused push"] >= 300


def explained(text: str, **how: Any) -> Any:
    return sase.explain(text, EVENTS, **how)


def test_explain_shows_the_paths_in_every_format() -> None:
    taken, refused = explained(PLAIN), explained(PLAIN + " LIMIT 3")
    told = "executed: loaded events by the fused scan; pushed batches by the fused push"
    reason = "results end at LIMIT"
    assert told in str(taken)
    assert "fused lines" not in str(taken)
    assert "fused lines: the plan has no runs" in taken.to_text(verbose=True)
    assert "executed: block by block through the operators" in str(refused)
    assert f"declined fused scan, fused push: {reason}" in str(refused).replace("\n    ", " ")
    paths = {path["path"]: path for path in refused.to_dict()["physical"]}
    assert [*paths] == [kind.name for kind in FUSED]
    assert paths["fused scan"]["declined"] == reason
    assert paths["fused scan"]["feed"] == "loaded"
    assert 'label="fused scan, fused push"' in taken.to_dot()
    assert "cluster_fused" not in refused.to_dot()
    assert reason in refused.to_dot()
    for page, words in ((taken.to_html(), "by the fused scan"), (refused.to_html(), reason)):
        assert words in page


def test_analyze_tells_how_many_events_a_path_took() -> None:
    assert f"by the fused scan, which took {COUNT}" in str(explained(PLAIN, analyze=True))
    ((scan, lines),) = [explained(LINES, analyze=True).to_dict()["physical"]]
    assert scan["events"] is lines["events"] is None
    assert lines["declined"] == "operators are counted or timed one by one"


def test_no_form_without_a_list_is_executed_by_them() -> None:
    assert explained(LINES, output="count").to_dict()["physical"] == []

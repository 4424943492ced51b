"""Pictures of explanations: near misses and partial matches beside the table and the stream."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import sase
from sase.engine.results.timeline import LEFT, PLOT, Timeline
from tests.diagnostics.why_not.explaining import explained, small_pieces
from tests.drawing.examples import MOST_RUNS, example, shortened
from tests.seeds import draw_numbers

pytestmark = pytest.mark.usefixtures(small_pieces.__name__)
ROOT = Path(__file__).parents[3]
FORMS = ("sequences", "series", "sets", "choices", "negative groups", "groups", "imprecise")


def why(query: str, events: str, **keywords: Any) -> sase.WhyNot:
    """Explain a query on events such as `a3`: the type and the key, a second apart."""
    rows = [
        {"ts": number, "type": each[0].upper(), "k": int(each[1:])}
        for number, each in enumerate(events.split())
        if each != "-"
    ]
    return sase.why(f"EVENT {query}", rows, clock=lambda: 0.0, **keywords)


def picture(timeline: Timeline) -> ElementTree.Element:
    (text,) = re.findall(r"<svg.*</svg>", timeline._repr_html_(), re.DOTALL)
    return ElementTree.fromstring(text)


def of_class(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in element.iter() if each.get("class") == name]


def rows_of(element: ElementTree.Element, kind: str) -> list[int]:
    return [int(each.get("data-row", "")) for each in of_class(element, kind)]


def crosses(root: ElementTree.Element) -> list[float]:
    """The places of the crosses from the left, as their middles."""
    paths = [each.get("d", "") for each in of_class(root, "stop")]
    return [float(re.findall(r"M(\S+) ", path)[0]) + 9 for path in paths]


def place(timeline: Timeline, time: int) -> Any:
    share = (time - timeline.begin) / (timeline.end - timeline.begin)
    return pytest.approx(LEFT + PLOT * share, abs=0.06)


def flat(rows: dict[str, Any]) -> list[int]:
    """The rows of a near miss in the table, of negative components, too."""
    listed = (
        [each] if isinstance(each, int) else each for each in rows.values() if each is not None
    )
    return sorted(row for each in listed for row in each)


@pytest.mark.random
@pytest.mark.parametrize("form", FORMS)
def test_the_picture_has_the_events_of_the_table(form: str) -> None:
    seen = Counter[str]()
    for number in draw_numbers(8):
        drawn = example(number, form)
        if form not in ("groups", "imprecise"):
            rows = shortened(drawn.query, drawn.setting, drawn.rows, MOST_RUNS)
            drawn = replace(drawn, rows=rows)
        found = explained(drawn)
        if found is None:
            continue
        for each in found.branches or (found,):
            timeline, table = each.timeline, each.near_misses.column("rows").to_pylist()
            if form == "imprecise":
                assert timeline.matches == () and "imprecise" in timeline.notes[0]
                seen["imprecise"] += 1
                continue
            if table:
                for miss, match in zip(table, timeline.matches, strict=True):
                    events = match.events + match.against
                    bound = [e.row for e in events if e.variable]
                    assert match.stop is not None and not match.stop.missing
                    # The table has no events of negative groups, which the reason names.
                    further = {*bound} - {*flat(miss)}
                    assert all(f" in row {row}" in match.stop.reason for row in further)
                    assert sorted({*bound} - further) == flat(miss)
                    assert not further or form == "negative groups"
                    times = [event.time for event in match.events]
                    assert times == sorted(times)
                    assert match.stop.at in [event.time for event in events]
                    assert not {e.row for e in events} & {e.row for e in match.skipped}
            seen["near" if table else "partial" if timeline.matches else "none"] += 1
            if timeline.matches:
                assert len(of_class(picture(timeline), "stop")) == len(timeline.matches)
    assert seen["near"] + seen["partial"] + seen["imprecise"] > 1, seen


def test_an_absence_that_is_violated() -> None:
    timeline = why("SEQ(A a, !(B b), C c) WHERE [k] WITHIN 9", "a1 b2 b1 d1 c1").timeline
    (match,) = timeline.matches
    assert [(e.variable, e.row) for e in match.events] == [("a", 0), ("c", 4)]
    assert [(e.variable, e.type, e.row) for e in match.against] == [("b", "B", 2)]
    assert [tuple(each) for each in match.absences] == [("b", 0, 4)]
    assert match.stop is not None and (match.stop.at, match.stop.reason) == (2, "stopped by !(B b)")
    assert match.window == (0, 9)
    root = picture(timeline)
    (group,) = of_class(root, "match")
    (hatched,) = of_class(group, "absence")
    assert hatched.get("fill", "").startswith("url(#") and rows_of(group, "against") == [2]
    assert crosses(group) == [place(timeline, 2)]
    assert "must have no b; against it: b B 2 (row 2); stopped by !(B b)" in match.sentence
    assert match.sentence in (root.get("aria-label") or "")


def test_a_group_that_is_violated() -> None:
    query = "SEQ(A a, !(SEQ(B b, D d)), C c) WHERE [k] WITHIN 9"
    (match,) = why(query, "a1 b1 d1 c1").timeline.matches
    assert [(e.variable, e.row) for e in match.against] == [("b", 1), ("d", 2)]
    assert match.stop is not None and match.stop.at == 1


def test_a_window_that_is_too_short() -> None:
    timeline = why("SEQ(A a, B b) WHERE [k] WITHIN 3", "a1 a2 d1 d1 d1 b1").timeline
    (match,) = timeline.matches
    assert match.window == (0, 3) and match.stop is not None and match.stop.at == 5
    assert match.stop.reason == "stopped by WITHIN 3, by 2"
    assert crosses(picture(timeline)) == [place(timeline, 5)]


def test_a_condition_stops_at_the_last_event_that_it_reads() -> None:
    timeline = why("SEQ(A a, B b, C c) WHERE b.k > a.k WITHIN 9", "a5 b3 c1").timeline
    (match,) = timeline.matches
    assert match.stop is not None and match.stop.at == 1
    assert match.stop.reason == "stopped by b.k > a.k, b.k is 3, a.k is 5: by 2"
    (reason,) = of_class(picture(timeline), "reason")
    assert "".join(reason.itertext()) == match.stop.reason


def test_a_strategy_stops_at_the_event_that_it_does_not_skip() -> None:
    query = "SEQ(A a, B+ b[], C c) WHERE partition_contiguity {[k]} WITHIN 99"
    (match,) = why(query, "a1 b1 d2 d1 c1").timeline.matches
    assert [(e.variable, e.row) for e in match.against] == [("", 3)]
    assert match.stop is not None and match.stop.at == 3


def test_a_component_without_an_event() -> None:
    found = why("SEQ(A a, B b, Z z, C c) WHERE [k] WITHIN 9", "a1 c1 b1 b2 c1 - - - c2")
    timeline = found.timeline
    assert found.near_misses.num_rows == 0
    (match,) = timeline.matches
    assert [(e.variable, e.row) for e in match.events] == [("a", 0), ("b", 2)]
    assert match.stop is not None and match.stop.missing == "z" and match.stop.at == 9
    assert match.stop.reason == "stopped by Z z: no event of it comes after"
    # Events of the key in the window, of the types of the query.
    assert [event.row for event in timeline.events] == [0, 1, 2, 4]
    root = picture(timeline)
    assert len(of_class(root, "missing")) == 1 and crosses(root) == [place(timeline, 9)]
    assert "no z" in [each.text for each in root.iter() if each.text]


def test_a_partial_match_that_two_parts_stop() -> None:
    """No part alone stops it, so the reason is the first part that leaves no event."""
    found = why("SEQ(A a, B b) WHERE [k] AND b.k > 5 WITHIN 2", "a1 - - b7 d1")
    (match,) = found.timeline.matches
    assert [e.row for e in match.events] == [0]
    assert match.stop is not None
    assert match.stop.reason == "stopped by B b: 1 in order, none with [k]"


def test_nothing_to_draw_is_said() -> None:
    assert why("SEQ(A a, B b) WITHIN 9", "a1 d1 b1", near=0).timeline.matches == ()
    timeline = why("SEQ(A a, B b) WHERE [k] WITHIN 9", "b1 b2").timeline
    assert timeline.matches == () and timeline.notes == (
        "no near miss and no partial match is drawn: none was found, or near is 0",
    )
    assert "<svg" not in timeline._repr_html_()


def test_a_search_that_the_budget_ends_is_said() -> None:
    rows = pa.table({"ts": range(20_000), "type": ["A"] * 19_999 + ["B"], "k": [1] * 20_000})
    query, ticks = "EVENT SEQ(A a, B b, Z z) WHERE [k] WITHIN 9", count()
    timeline = sase.why(query, rows, clock=lambda: float(next(ticks)), seconds=0).timeline
    assert timeline.notes == ("the budget ended the search of a partial match",)
    assert timeline.matches == ()
    (match,) = sase.why(query, rows, clock=lambda: 0.0).timeline.matches
    assert [event.row for event in match.events] == [19_998, 19_999]


def test_keys_that_equal_nothing() -> None:
    """NaN and NULL are in no match, but in near misses of the test."""
    nan = float("nan")
    for keys in ([nan, nan], [None, None], [nan, 1.0]):
        rows = [{"ts": n, "type": "ABC"[n], "k": k} for n, k in enumerate([*keys, 1.0])]
        found = sase.why("EVENT SEQ(A a, B b) WHERE [k] WITHIN 9", rows)
        assert [e.row for match in found.timeline.matches for e in match.events] == [0, 1]


def test_each_branch_has_a_picture() -> None:
    found = why("SEQ(A a, (B b OR C c), D d) WHERE [k] WITHIN 3", "a1 - - - b1 d1 a2 c3 d2")
    page = found.to_html()
    assert page.count("<svg") == 2 and page.count("branch 2 of 2") == 2  # in the text, too
    assert len({*re.findall(r'<pattern id="([^"]+)"', page)}) == 2
    assert found._repr_html_().count("<svg") == 2


def test_long_reasons_are_cut_in_the_picture_alone() -> None:
    condition = " AND ".join(f"a.k != {n}" for n in range(100, 160))
    timeline = why(f"SEQ(A a, B b) WHERE (b.k > 5 OR NOT ({condition})) WITHIN 9", "a1 b1").timeline
    (match,) = timeline.matches
    (reason,) = of_class(picture(timeline), "reason")
    text = "".join(reason.itertext())
    assert match.stop is not None and len(match.stop.reason) > 200
    assert len(text) == 120 and match.stop.reason.startswith(text[:-1]) and text[-1] == "…"


def test_the_picture_of_the_docs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    code, _, rest = page.split("## Near misses")[1].split("```python\n")[1].partition("```")
    exec(code, {"sase": sase})
    assert capsys.readouterr().out == rest.split("```text\n")[1].partition("```")[0]

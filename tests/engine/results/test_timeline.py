"""The timeline of matches: its events, absences and windows beside Python, and its picture."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from sase.engine.pipeline import batch
from sase.engine.results.matches import Matches
from sase.engine.results.timeline import BARS, COLOUR, LEFT, PLOT, SHAPES, Timeline
from sase.errors import PlanError
from tests.drawing.draw import Draw
from tests.seeds import draw_numbers

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
SCHEMA = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64())])
Row = dict[str, Any]


def drawn(draw: Draw, count: int = 24) -> list[Row]:
    """Rows in order of time, with different times."""
    times = sorted(draw.sample(range(80), count))
    return [{"ts": ts, "type": draw.choice("AABBCD"), "k": draw.randrange(3)} for ts in times]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def svg(timeline: Timeline) -> ElementTree.Element:
    (text,) = re.findall(r"<svg.*</svg>", timeline._repr_html_(), re.DOTALL)
    return ElementTree.fromstring(text)


def of_class(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in element.iter() if each.get("class") == name]


def places(element: ElementTree.Element, kind: str) -> list[tuple[int, float]]:
    """The rows of the marks of a kind, and their places from the left."""
    return sorted(
        (
            int(each.get("data-row", "")),
            float(re.findall(r"translate\((\S+) ", each.get("transform", ""))[0]),
        )
        for each in of_class(element, kind)
    )


def place(timeline: Timeline, time: int) -> float:
    """The place of a time."""
    share = (time - timeline.begin) / (timeline.end - timeline.begin)
    return pytest.approx(LEFT + PLOT * min(max(share, 0), 1), abs=0.06)  # type: ignore[return-value]


# Pattern → for the rows of a match the times of each absence; W is the window.
W = 15
PATTERNS: dict[str, Any] = {
    "SEQ(A a, !(D d), B b)": lambda a, b: [("d", a, b)],
    "SEQ(!(C c), A a, B b)": lambda a, b: [("c", b - W, a)],
    "SEQ(A a, B b, !(D d), !(C c))": lambda a, b: [("c", b, a + W), ("d", b, a + W)],
    "SEQ(A a, B b)": lambda a, b: [],
}


def wanted_matches(pattern: str, rows: list[Row]) -> list[tuple[int, int]]:
    """The pairs of rows that match, by trying all."""
    found = []
    for first, last in product(range(len(rows)), repeat=2):
        a, b = rows[first], rows[last]
        if (a["type"], b["type"], a["k"]) != ("A", "B", b["k"]) or not 0 < b["ts"] - a["ts"] < W:
            continue
        forbidden = (
            row["type"].lower() == name and row["k"] == a["k"] and begin < row["ts"] < end
            for name, begin, end in PATTERNS[pattern](a["ts"], b["ts"])
            for row in rows
        )
        if not any(forbidden):
            found.append((first, last))
    return found


def cases() -> Iterator[tuple[str, list[Row], Any]]:
    for number in draw_numbers(24):
        draw = Draw(number)
        pattern, rows = draw.choice([*PATTERNS]), drawn(draw)
        query = f"EVENT {pattern} WHERE [k] WITHIN {W}"
        yield pattern, rows, sase.match(query, table(rows))


@pytest.mark.random
def test_the_parts_are_those_of_python() -> None:
    seen = skipped = absent = 0
    for pattern, rows, matches in cases():
        timeline = matches.timeline(n=500)
        found = [tuple(event.row for event in match.events) for match in timeline.matches]
        assert found == [tuple(row.values()) for row in matches.rows.to_pylist()]
        assert sorted(found) == wanted_matches(pattern, rows)
        for (first, last), match in zip(found, timeline.matches, strict=True):
            a, b = rows[first], rows[last]
            assert [(e.time, e.type, e.variable) for e in match.events] == [
                (a["ts"], "A", "a"), (b["ts"], "B", "b"),
            ]  # fmt: skip
            between = [n for n in range(first + 1, last) if rows[n]["k"] == a["k"]]
            assert [(e.row, e.type) for e in match.skipped] == [
                (n, rows[n]["type"]) for n in between
            ]
            expected = PATTERNS[pattern](a["ts"], b["ts"])
            assert sorted(map(tuple, match.absences)) == sorted(expected)
            assert match.window == (a["ts"], a["ts"] + W)
            seen, skipped = seen + 1, skipped + len(between)
            absent += len(expected)
    assert min(seen, skipped, absent) > 5


@pytest.mark.random
def test_the_picture_has_the_parts_at_their_times() -> None:
    hatched = 0
    for _, _, matches in cases():
        timeline = matches.timeline()
        if not timeline.matches:
            assert "<svg" not in timeline._repr_html_()
            continue
        root = svg(timeline)
        (hatch,) = root.iter(f"{SVG}pattern")
        groups = of_class(root, "match")
        assert [each.get("data-match") for each in groups] == [
            str(match.number) for match in timeline.matches
        ]
        for group, match in zip(groups, timeline.matches, strict=True):
            shift = match.events[0].time if timeline.aligned else 0
            for kind, events in (("event", match.events), ("skipped", match.skipped)):
                assert places(group, kind) == [
                    (event.row, place(timeline, event.time - shift)) for event in events
                ]
            (line,) = of_class(group, "line")
            assert [float(x) for x in re.findall(r"[MH](\S+)", line.get("d", ""))] == [
                place(timeline, match.events[at].time - shift) for at in (0, -1)
            ]
            (window,) = of_class(group, "window")
            bands = [(window, *(match.window or ()))]
            drawn_absences = of_class(group, "absence")
            bands += [
                (rect, absence.begin, absence.end)
                for rect, absence in zip(drawn_absences, match.absences, strict=True)
            ]
            for rect, begin, end in bands:
                left, width = float(rect.get("x", "")), float(rect.get("width", ""))
                assert left == place(timeline, begin - shift)
                right = place(timeline, end - shift)
                assert left + width == right or width == 1
            assert all(e.get("fill") == f"url(#{hatch.get('id')})" for e in drawn_absences)
            hatched += len(drawn_absences)
            arrows = of_class(group, "beyond")
            assert len(arrows) == (
                match.window is not None and match.window[1] - shift > timeline.end
            )
        if not timeline.aligned:
            (lane,) = of_class(root, "lane")
            bound = {event.row for match in timeline.matches for event in match.events}
            others = {event.row for match in timeline.matches for event in match.skipped} - bound
            assert {row for row, _ in places(lane, "event")} == bound
            assert {row for row, _ in places(lane, "skipped")} == others
    assert hatched > 10


@pytest.mark.random
def test_the_density_counts_matches_under_way() -> None:
    for _, rows, matches in cases():
        timeline = matches.timeline(n=1)
        if len(matches) < 2:
            assert timeline.density is None
            continue
        density = timeline.density
        assert density is not None and timeline.count == len(matches)
        ends = [(rows[m["a"]]["ts"], rows[m["b"]]["ts"]) for m in matches.rows.to_pylist()]
        assert (density.begin, density.end) == (min(ends)[0], max(end for _, end in ends))
        span, bars = density.end - density.begin + 1, len(density.counts)
        assert bars == min(60, span)
        for number, count in enumerate(density.counts):
            left, right = (density.begin + span * n // bars for n in (number, number + 1))
            assert count == sum(begin < right and end >= left for begin, end in ends)
        bins = of_class(svg(timeline), "bin")
        assert [int(each.get("data-count", "")) for each in bins] == [*density.counts]
        heights = [float(each.get("height", "")) for each in bins]
        assert heights == [
            pytest.approx(BARS * count / max(density.counts), abs=0.06) for count in density.counts
        ]


def test_the_density_of_single_events() -> None:
    density = timeline_of("SEQ(B b)", n=1).density
    assert density is not None and (density.begin, density.end) == (2, 3)
    assert density.counts == (1, 1)
    assert len(of_class(svg(timeline_of("SEQ(B b)", n=1)), "bin")) == 2


def test_matches_of_several_batches_are_numbered_together() -> None:
    query = "EVENT SEQ(A a, B b) WHERE [k] WITHIN 20"
    matcher = sase.compile(query, table(ROWS)).open()
    pushed = [matcher.push(table([row]).to_batches()[0]) for row in ROWS]
    joined = Matches.of([part for each in pushed for part in each.parts], pushed[-1].report)
    timeline, whole = joined.timeline(key=1), sase.match(query, table(ROWS)).timeline(key=1)
    assert [match.number for match in timeline.matches] == [1, 2]
    assert (timeline.matches, timeline.events) == (whole.matches, whole.events)


@pytest.mark.random
def test_pushed_events_give_the_same() -> None:
    for number in draw_numbers(8):
        draw = Draw(number)
        rows = drawn(draw, 40)
        query = f"EVENT SEQ(A a, !(D d), B b) WHERE [k] WITHIN {W}"
        matcher = sase.compile(query, table(rows)).open()
        parts = []
        for begin in range(0, len(rows), 7):
            (pushed,) = table(rows[begin : begin + 7]).to_batches()
            parts.append(matcher.push(pushed).timeline(n=500))
        parts.append(matcher.finish().timeline(n=500))
        found = [(m.events, m.skipped, m.absences) for part in parts for m in part.matches]
        whole = sase.match(query, table(rows)).timeline(n=500)
        assert found == [(m.events, m.skipped, m.absences) for m in whole.matches]


@pytest.mark.random
def test_the_key_chooses_matches_and_events() -> None:
    drawn_of_key = 0
    for _, rows, matches in cases():
        for key in (1, {"k": 1}):
            timeline = matches.timeline(key=key, n=500)
            own = [
                tuple(row.values()) for row in matches.rows.to_pylist() if rows[row["a"]]["k"] == 1
            ]
            assert [tuple(e.row for e in m.events) for m in timeline.matches] == own
            assert timeline.count == len(own)
            if own and not timeline.aligned:
                assert [event.row for event in timeline.events] == [
                    n for n, row in enumerate(rows)
                    if row["k"] == 1 and timeline.begin <= row["ts"] <= timeline.end
                ]  # fmt: skip
                drawn_of_key += 1
    assert drawn_of_key > 5


ROWS = [
    {"ts": ts, "type": kind, "k": 1}
    for ts, kind in enumerate(["A", "X", "B", "B", "X", "C", "D", "C"])
]


def timeline_of(pattern: str, within: str = "20", **options: Any) -> Timeline:
    query = f"EVENT {pattern} WITHIN {within}"
    return sase.match(query, table(ROWS)).timeline(**options)


def names(timeline: Timeline, match: int = 0) -> list[tuple[str, int]]:
    return [(event.variable, event.row) for event in timeline.matches[match].events]


def test_series_groups_sets_and_choices() -> None:
    series = timeline_of("SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {[k]}")
    assert names(series) == [("a", 0), ("b", 2), ("b", 3), ("c", 5)]
    group = timeline_of("SEQ(A a, (SEQ(B b, !(D d), C x))+ g[], D e) WHERE [k]")
    assert names(group) == [("a", 0), ("g.b", 3), ("g.x", 5), ("e", 6)]
    assert "absences inside of repeated groups are not drawn" in group.notes
    a_set = timeline_of("SEQ(SET(C c, D d), C x) WHERE [k]")
    assert names(a_set) == [("c", 5), ("d", 6), ("x", 7)]
    choice = timeline_of("SEQ(A a, !(X n), D d) OR SEQ(D a, !(B n), C d) WHERE [k]")
    assert names(choice) == [("a", 6), ("d", 7)]
    assert [tuple(each) for each in choice.matches[0].absences] == [("n", 6, 7)]
    turned = timeline_of("SEQ(SET(D d, B b), C x) WHERE [k]")
    assert names(turned) == [("b", 3), ("d", 6), ("x", 7)]
    other = timeline_of("SEQ(X a, B b) OR SEQ(D b, C a) WHERE [k]")
    assert [names(other, n) for n in (0, 2)] == [[("a", 1), ("b", 2)], [("b", 6), ("a", 7)]]
    # The gap of an empty series ends at the next event.
    empty = timeline_of("SEQ(A a, B b, !(D n), Z* z[], C c) WHERE [k]")
    gaps = {(each.begin, each.end) for match in empty.matches for each in match.absences}
    assert gaps == {(2, 5), (3, 5)}


def test_windows_of_events() -> None:
    counted = timeline_of("SEQ(!(D d), B b, C c) WHERE [k]", "5 EVENTS")
    assert [tuple(each) for each in counted.matches[0].absences] == [("d", 1, 3)]
    assert counted.matches[0].window == (3, 7)
    ranked = timeline_of("SEQ(B b, C c) WHERE [k]", "5 EVENTS PER PARTITION")
    assert ranked.matches[0].window is None
    assert ranked.notes == ("a window in EVENTS PER PARTITION is not drawn",)


def test_matches_far_apart_are_aligned() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {"ts": begin + timedelta(days=day, hours=hour), "type": kind, "k": day}
        for day in range(0, 200, 50)
        for hour, kind in ((0, "A"), (2, "X"), (5 + day // 50, "B"))
    ]
    timeline = sase.match("EVENT SEQ(A a, B b) WHERE [k] WITHIN 9 hours", rows).timeline()
    assert timeline.aligned and not timeline.events
    root = svg(timeline)
    for group, match in zip(of_class(root, "match"), timeline.matches, strict=True):
        marks = places(group, "event") + places(group, "skipped")
        times = [event.time for event in (*match.events, *match.skipped)]
        assert [x for _, x in marks] == [place(timeline, t - times[0]) for t in times]
        assert match.events[0].at in [each.text for each in group.iter(f"{SVG}text")]
    ticks = [each.text for each in of_class(root, "axis")[0].iter(f"{SVG}text")]
    assert ticks[0] == "+0 s" and ticks[-1] == "since the first event" and len(ticks) == 5
    two = sase.match("EVENT SEQ(A a, B b) WHERE [k] WITHIN 9 hours", rows).timeline(key=0)
    assert not two.aligned and len(two.events) == 3


def test_keys_that_python_does_not_have() -> None:
    key = pa.array([2**62] * 3 + [2**62 + 1], pa.timestamp("us"))
    rows = pa.table({"ts": range(4), "type": ["A", "X", "B", "X"], "k": key})
    (match,) = sase.match("EVENT SEQ(A a, B b) WHERE [k] WITHIN 9", rows).timeline().matches
    assert [event.row for event in match.skipped] == [1]


def test_names_are_escaped() -> None:
    bad = '<script>&"\x1b[31m'
    rows = [{"ts": 0, "type": bad, "k": bad}, {"ts": 1, "type": "B", "k": bad}]
    query = f"EVENT SEQ(`{bad}` a, !(D d), B `b<i>`) WHERE [k] WITHIN 9"
    timeline = sase.match(query, rows).timeline(key=bad)
    page = timeline.to_html()
    assert "<script" not in page and "<i>" not in page and "\x1b" not in page + str(timeline)
    texts = [each.text for each in svg(timeline).iter() if each.text]
    assert r'<script>&"\x1b[31m' in texts and "b<i>" in texts
    assert '<script>&"' in (svg(timeline).get("aria-label") or "")


def test_it_is_readable_without_colours_and_by_screen_readers() -> None:
    timeline = timeline_of("SEQ(A a, !(D d), B b) WHERE [k]")
    root = svg(timeline)
    assert root.get("role") == "img" and root.get("fill") == "currentColor"
    for match in timeline.matches:
        assert match.sentence in (root.get("aria-label") or "")
    colours = {value for each in root.iter() for name, value in each.items() if name == "fill"}
    (hatch,) = (each for each in colours if each.startswith("url"))
    assert colours == {"currentColor", COLOUR, "none", hatch}
    shapes = {
        str(each.findtext(f"{SVG}title")).split()[-4]: each.get("d")
        for kind in ("event", "skipped")
        for each in of_class(root, kind)
    }
    assert len({*shapes.values()}) == len(shapes) == 3
    assert "prefers-color-scheme: dark" in timeline.to_html()
    for ground in ("#ffffff", "#14181f"):
        lights = sorted(map(luminance, (ground, COLOUR)))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) > 3


def luminance(colour: str) -> float:
    """The relative luminance of WCAG."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_many_types_share_the_last_shape() -> None:
    kinds = ["A", *(f"T{n}" for n in range(12)), "B"]
    rows = [{"ts": n, "type": kind, "k": 1} for n, kind in enumerate(kinds)]
    root = svg(sase.match("EVENT SEQ(A a, B b) WITHIN 50", rows).timeline())
    (legend,) = of_class(root, "legend")
    texts = [each.text for each in legend.iter(f"{SVG}text")]
    assert texts[:2] == ["A", "B"] and texts[-2] == "others" and len(texts) == len(SHAPES) + 1
    (group,) = of_class(root, "match")
    assert {e.get("d") for e in of_class(group, "skipped")} == {*SHAPES[2:]}


def test_the_number_of_drawn_events_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.results.timeline_events.DRAWN", 3)
    timeline = timeline_of("SEQ(A a, C c) WHERE [k]")
    assert [event.row for event in timeline.matches[0].skipped] == [1, 2, 3]
    assert any("pale events are drawn" in note for note in timeline.notes)
    monkeypatch.setattr("sase.engine.results.timeline_events.LOOKED", 2)
    timeline = timeline_of("SEQ(A a, C c) WHERE [k]")
    assert [event.row for event in timeline.matches[0].skipped] == [1]
    assert any("pale events are drawn" in note for note in timeline.notes)


def test_rows_that_are_not_held_are_said() -> None:
    matcher = sase.compile("EVENT SEQ(A a, B b) WHERE [k] WITHIN 20", table(ROWS)).open()
    for row in ROWS[:3]:
        matches = matcher.push(table([row]).to_batches()[0])
    assert matches.timeline().notes == ()
    assert [event.row for event in matches.timeline().matches[0].skipped] == [1]
    matches.to_arrow()  # keeps only the pushes with events of matches
    (note,) = matches.timeline().notes
    assert "are not held" in note


def test_events_that_were_left_out_of_the_sort_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.columns.loader.MANY", 1)
    query = "EVENT SEQ(A a, C c) WHERE [k]"
    in_order, timeline = (
        sase.match(query, table(rows)).timeline() for rows in (ROWS, [*reversed(ROWS)])
    )
    assert in_order.notes == ()
    kinds = [{e.type for e in each.matches[0].skipped} for each in (in_order, timeline)]
    assert "B" in kinds[0] and "B" not in kinds[1]
    (note,) = timeline.notes
    assert "were not sorted" in note


def test_matches_without_their_input(tmp_path: Path) -> None:
    query = "EVENT SEQ(A a, B b) WHERE [k] WITHIN 20"
    pq.write_table(table(ROWS), tmp_path / "rows.parquet", row_group_size=1)
    held = sase.match(query, tmp_path / "rows.parquet")
    # Rows of other types are not read, if the file says where they are.
    assert [match.skipped for match in held.timeline().matches[:1]] == [()]
    assert any("were not read" in note for note in held.timeline().notes)
    pieces = batch.run(sase.compile(query, table(ROWS)).engine, tmp_path / "rows.parquet", held=0)
    with pytest.raises(PlanError, match="read in pieces.*into a table"):
        pieces.timeline()
    with pytest.raises(PlanError, match="draw them before"):
        pickle.loads(pickle.dumps(held)).timeline()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 0}, "n=0: from 1 to 500"),
        ({"n": 501}, "n=501: from 1 to 500"),
        ({"n": True}, "n=True: from 1 to 500"),
        ({"key": {"kk": 1}}, "no column `kk`; did you mean `k`?"),
        ({"key": "x"}, "'x' is no value of `k`, which has the type int64"),
        ({"key": {"k": object()}}, "is no value of `k`"),
        ({"key": 1.5}, "1.5 is no value of `k`"),
        ({"key": {"k": None}}, "None is no value of `k`"),
        ({"key": {}}, "at least one column"),
    ],
)
def test_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=re.escape(said)):
        timeline_of("SEQ(A a, B b) WHERE [k]", **options)


def test_a_value_needs_one_equivalence_test() -> None:
    with pytest.raises(PlanError, match=r"the query has none: name the column"):
        timeline_of("SEQ(A a, B b)", key=1)
    assert timeline_of("SEQ(A a, B b)", key={"k": 1}).count == 2


def test_imprecise_time_is_refused() -> None:
    rows = [{"from": n, "to": n + 2, "type": kind} for n, kind in enumerate("AB")]
    matches = sase.match("EVENT SEQ(A a, B b) WITHIN 9", rows, time=("from", "to"))
    with pytest.raises(PlanError, match="with imprecise time"):
        matches.timeline()


def test_times_of_all_kinds() -> None:
    most = 2**63 - 1
    ends = [
        {"ts": ts, "type": kind, "k": 1}
        for ts, kind in ((-most, "A"), (most - 1, "A"), (most, "B"))
    ]
    timeline = sase.match("EVENT SEQ(A a, B b, !(D d)) WITHIN 9", ends).timeline()
    assert [tuple(each) for each in timeline.matches[0].absences] == [("d", most, most + 8)]
    assert timeline.ticks[-1] == (most + 8, str(most))
    root = svg(timeline)
    assert [row for row, _ in places(of_class(root, "match")[0], "event")] == [1, 2]
    rows = [
        {"ts": datetime(2026, 1, 1, 4 * n, tzinfo=UTC), "type": kind}
        for n, kind in enumerate("AXB")
    ]
    days = sase.match("EVENT SEQ(A a, B b) WITHIN 2 days", rows).timeline()
    assert [text for _, text in days.ticks] == [
        "2026-01-01 00:00:00Z", "03:20:00Z", "06:40:00Z", "10:00:00Z",
    ]  # fmt: skip
    assert days.matches[0].skipped[0].at == "2026-01-01 04:00:00Z"


def test_events_without_a_type() -> None:
    rows = [{"ts": n, "v": n} for n in range(5)]
    found = sase.match("EVENT SEQ(A a, B b) WITHIN 9", rows, types={"A": "v=0", "B": "v=3"})
    assert str(found.timeline()).endswith("skipped 2 no type")


def test_no_match_and_values_are_plain() -> None:
    timeline = timeline_of("SEQ(D d, A a) WHERE [k]", key=1)
    assert str(timeline) == repr(timeline) == "0 matches of k = 1"
    assert "0 matches of k = 1" in timeline.to_html() and "<svg" not in timeline.to_html()
    timeline = timeline_of("SEQ(A a, B b) WHERE [k]", n=1)
    assert pickle.loads(pickle.dumps(timeline)) == timeline
    assert str(timeline).splitlines()[0] == "2 matches, the first 1 drawn"


def test_the_page_of_the_docs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].partition("```")[0]
    exec(compile(code, "pictures.md", "exec"), {})
    assert capsys.readouterr().out == page.split("```text\n")[1].partition("```")[0]


def test_equal_pictures_have_patterns_of_their_own() -> None:
    """Browsers draw none of a pattern in a hidden part of the page."""
    rows = [{"ts": 1, "type": "A"}, {"ts": 3, "type": "B"}]
    query = "EVENT SEQ(A a, !(C c), B b) WITHIN 9"
    pages = [sase.match(query, rows).timeline()._repr_html_() for _ in range(2)]
    first, second = (re.findall(r"sase-hatch-\w+", page) for page in pages)
    assert len({*first}) == len({*second}) == 1
    assert first[0] != second[0]
    assert pages[0].replace(first[0], second[0]) == pages[1]

"""The core of the experiments: checks, omissions, earlier results, and conclusions."""

import time

import pyarrow as pa
import pytest

from experiments.compare import bootstrapped
from experiments.core import checks, results, running
from experiments.core.experiment import (
    Experiment,
    Finding,
    LeftOut,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.measuring import Wrong, measured
from experiments.core.reporting import UNKNOWN, Section, _markdown_of
from experiments.core.results import LEFT_OUT, MEASURED, TOO_SLOW, Results
from experiments.core.ways import converged, listed, recipe

pytestmark = pytest.mark.heavy

SIZE = Size("tiny", 2, 0.2)
MEASURED_HERE = {
    "panel": "", "x": 1, "way": "w", "status": LEFT_OUT, "note": "", "size": "full",
    "commit": "abc-dirty", "machine": "m", "versions": "v", "measured_at": "2026-01-01",
}  # fmt: skip
HERE = {"size": "tiny", "commit": "abc", "machine": "m", "versions": "v"}


def way(matches, seconds=0.0, check=None, calls=None):
    def run():
        if calls is not None:
            calls.append(matches)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return matches

    return lambda data: Way(run, lambda found: Outcome(found, check))


def experiment(*points):
    return Experiment("name", "Title", "Source", "said.", lambda size: points, (Plot("x", "", ""),))


def rows_of(point, slow=None):
    return measured(experiment(point), point, SIZE, set() if slow is None else slow)


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_an_error_of_a_library_that_is_interrupted_is_a_run_that_is_too_slow(seconds):
    def run():
        end = time.perf_counter() + seconds
        try:
            while time.perf_counter() < end:
                pass
        except BaseException:
            raise RuntimeError("interrupted") from None
        raise RuntimeError("of its own")

    point = Point(1, {"a": lambda data: Way(run, Outcome)})
    if not seconds:
        with pytest.raises(RuntimeError, match="of its own"):
            rows_of(point)
    else:
        (row,) = rows_of(point)
        assert row["status"] == TOO_SLOW


def test_a_run_is_counted_and_timed_as_often_as_the_size_says():
    calls = []
    (row,) = rows_of(Point(1, {"a": way(5, calls=calls)}, events=100))
    assert (row["matches"], row["rounds"], row["status"]) == (5, 2, MEASURED)
    assert len(calls) == 3  # one to warm up
    assert row["wall_low_s"] <= row["wall_s"] <= row["wall_high_s"]
    assert row["events_per_s"] == 100 / row["wall_s"]


def test_of_a_program_with_clocks_of_its_own_their_medians_count():
    told = iter([9.0, 1.0, 2.0])  # the first warms up
    timed = Way(lambda: next(told), lambda s: Outcome(5, None, {"own_s": s, "cpu_s": 10 * s}))
    (row,) = rows_of(Point(1, {"a": lambda data: timed}))
    assert (row["wall_s"], row["cpu_s"]) == (1.5, 15.0)


@pytest.mark.parametrize(
    "point",
    [
        Point(1, {"a": way(5), "b": way(6)}),
        Point(1, {"a": way(5, check=1), "b": way(5, check=2)}),
        Point(1, {"a": way(5)}, known=6),
        Point(1, {"a": way(5, check=1)}, known=5, known_check=2),
    ],
)
def test_what_is_wrong_stops_the_run(point):
    with pytest.raises(Wrong):
        rows_of(point)


def test_a_way_that_finds_something_else_later_is_wrong():
    found = iter([5, 5, 6])
    changing = Way(lambda: next(found), Outcome)
    with pytest.raises(Wrong, match="its first run"):
        rows_of(Point(1, {"a": lambda data: changing}))


def test_ways_with_different_questions_need_not_agree():
    rows = rows_of(Point(1, {"a": way(5), "b": way(6)}, alike=False))
    assert [row["matches"] for row in rows] == [5, 6]


def test_what_takes_too_long_is_stopped_and_not_tried_again():
    slow = set()
    rows = rows_of(Point(1, {"a": way(1, seconds=5), "b": way(1)}), slow)
    assert [row["status"] for row in rows] == [TOO_SLOW, MEASURED]
    rows = rows_of(Point(2, {"a": way(1), "b": way(1)}), slow)
    assert [row["status"] for row in rows] == [TOO_SLOW, MEASURED]


def test_what_is_not_there_is_left_out_with_its_reason():
    def missing(data):
        raise LeftOut("no such thing")

    rows = rows_of(Point(1, {"a": missing, "b": way(1)}))
    assert [(row["status"], row["note"]) for row in rows] == [
        (LEFT_OUT, "no such thing"),
        (MEASURED, ""),
    ]


def test_a_recipe_that_is_not_there_is_left_out():
    with pytest.raises(LeftOut, match="there is no recipe `nothing`"):
        recipe("nothing")
    assert recipe("pais") == "pais"
    assert recipe("basic_windows").endswith("basic_windows.toml")


def test_points_of_the_same_commit_are_not_run_again(tmp_path, monkeypatch):
    place = dict(HERE)
    monkeypatch.setattr(results, "place", lambda size: place)
    calls = []
    one, two = (Point(x, {"a": way(5, calls=calls)}, events=1) for x in (1, 2))
    running.run([experiment(one)], SIZE, tmp_path)
    running.run([experiment(one, two)], SIZE, tmp_path)
    assert len(calls) == 6 and len(results.read(tmp_path / "name.csv").rows) == 2
    running.run([experiment(one)], SIZE, tmp_path, again=True)
    assert len(calls) == 9
    for changed in ("other", "abc-dirty", "abc-dirty"):
        place["commit"] = changed
        running.run([experiment(one)], SIZE, tmp_path)
    assert len(calls) == 18


def test_a_wrong_experiment_does_not_keep_the_others_from_running(tmp_path):
    wrong, right = experiment(Point(1, {"a": way(5)}, known=6)), experiment(Point(1, {"a": way(5)}))
    with pytest.raises(SystemExit, match="name: 1: a finds 5, right are 6"):
        running.run([wrong, right], SIZE, tmp_path)
    assert len(results.read(tmp_path / "name.csv").rows) == 1


def test_an_experiment_that_ends_with_an_error_does_not_keep_the_others_from_running(tmp_path):
    def fails(table):
        raise OSError("the disk is full")

    broken, right = experiment(Point(1, {"a": fails})), experiment(Point(1, {"a": way(5)}))
    with pytest.raises(SystemExit, match="name: the disk is full"):
        running.run([broken, right], SIZE, tmp_path)
    assert len(results.read(tmp_path / "name.csv").rows) == 1


def test_rows_come_back_from_a_file_as_they_were(tmp_path):
    rows = rows_of(Point("p1", {"a": way(5, check=7), "b": way(5)}, panel="one"))
    rows = [row | HERE for row in rows]
    results.write(tmp_path / "f.csv", rows)
    back = results.read(tmp_path / "f.csv").rows
    for before, after in zip(rows, back, strict=True):
        assert after["wall_s"] == pytest.approx(before["wall_s"], rel=1e-5)
        kept = ("panel", "x", "way", "status", "note", "matches", "rounds", *HERE)
        assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def curves(**ways):
    return Results(
        [
            {"panel": "", "x": x, "way": name, "status": MEASURED, "events_per_s": y, "note": ""}
            for name, curve in ways.items()
            for x, y in curve.items()
        ]
    )


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (checks.ahead("a", "b", 2), True),
        (checks.ahead("a", "b", 3), False),
        (checks.ahead("a", "b", 4, when=lambda x: x == 10), True),
        (checks.ahead("a", "c"), None),
        (checks.near("a", "b", 4), True),
        (checks.near("a", "b", 3), False),
        (checks.narrows("a", "b"), False),
        (checks.narrows("b", "a"), True),
        (checks.falls_faster("b", "a"), True),
        (checks.falls_faster("a", "b"), False),
        (checks.falls_faster("b", "a", down=True), False),
        (checks.falls_faster("a", "b", down=True), True),
        (checks.slope("b", -0.4, -0.2, y="events_per_s"), True),
        (checks.slope("b", 0, 1, y="events_per_s"), False),
        (checks.slope("b", -1, 0, y="events_per_s", when=lambda x: x == 1), None),
        (checks.between("b", 3, 9, when=lambda x: x == 1), True),
        (checks.between("b", 3, 9, when=lambda x: x == 10), False),
        (checks.rates("b", 1, 2, of="events_per_s", by="x", when=lambda x: x == 10), False),
        (checks.rates("b", 0.2, 4, of="events_per_s", by="x"), True),
        (checks.dearer("a", "b", 2, of="events_per_s", by="x"), True),
        (checks.dearer("a", "b", 3, of="events_per_s", by="x"), False),
        (checks.dearer("a", "b", 4, of="events_per_s", by="x", when=lambda x: x == 10), True),
        (checks.dearer("a", "c", 2, of="events_per_s", by="x"), None),
        (checks.between("a", 8, 9), True),
        (checks.every(checks.ahead("a", "b"), checks.ahead("a", "c")), None),
        (checks.every(checks.ahead("b", "a"), checks.ahead("a", "c")), False),
        (checks.every(checks.ahead("a", "b"), checks.near("a", "b", 4)), True),
        (checks.proportional("d", 2, of="events_per_s", by="x"), True),
        (checks.proportional("d", 1.5, of="events_per_s", by="x"), False),
        (checks.proportional("a", 2, of="events_per_s", by="x"), None),
        (checks.every(checks.ahead("a", "c")), None),
    ],
)
def test_checks_decide_by_the_figures(check, holds):
    # From 1 to 2 and from 2 to 4, d grows by 3 and by 5 for each.
    results = curves(a={1: 8.0, 10: 8.0}, b={1: 4.0, 10: 2.0}, d={1: 2.0, 2: 5.0, 4: 15.0})
    verdict = check(results)
    assert verdict.holds is holds and verdict.required


def test_a_check_prints_its_limit_and_the_points_that_it_lacks():
    results = curves(a={1: 8.0, 10: 8.0}, b={1: 4.0, 10: 2.0})
    stopped = {"panel": "", "x": 100, "way": "b", "status": TOO_SLOW, "note": "more than 60 s"}
    verdict = checks.ahead("a", "b", 2)(Results([*results.rows, stopped]))
    assert verdict.figures == (
        "events_per_s of a : b = 2 at 1, 4 at 10, not compared: b too slow at 100;"
        " required: at least 2"
    )
    verdict = checks.every(checks.ahead("a", "b"), checks.near("b", "a", 4))(results)
    assert "4 at 10 [at least 1]; " in verdict.evidence
    assert verdict.evidence.endswith("[from 0.25 to 4]")
    assert checks.span(0, 3) == "at most 3" and checks.span(2, float("inf")) == "at least 2"


def test_a_reason_stands_in_the_report_only_where_it_is_needed_and_its_figures_hold():
    of_it = experiment()
    for supported in (True, False):
        reason = Reason("because.", lambda results, so=supported: Verdict(so, "3 : 4", "1"))
        finding = Finding("it is fast", lambda results: Verdict(True, "so", "anything"), (reason,))
        for holds, told in ((True, "holds"), (False, "DOES NOT HOLD"), (None, "not measured")):
            section = Section(
                of_it,
                Results([MEASURED_HERE]),
                [],
                [(finding, Verdict(holds, "1 : 2", "2"))],
            )
            text = "\n".join(_markdown_of(section))
            assert f"- it is fast: **{told}** (1 : 2; required: 2)" in text
            assert ("because. (3 : 4; required: 1)" in text) is (holds is False and supported)
            assert (UNKNOWN in text) is (holds is False and not supported)
            assert "on m; v; commit abc, with changes that no commit has." in text


def test_a_recipe_that_declined_is_left_out_with_its_reason():
    table = pa.table({"ts": [1, 2], "type": ["A", "B"], "v": [1, 2]})
    assert listed("EVENT SEQ(A a, B b)", "postponed")(table).run()
    query = "EVENT SEQ(A a, B+ b[]) WHERE max(b[..i].v) < 3 WITHIN 9"
    assert listed(query, "postponed_filters", needs=("unfold_aggregates", "filter_early"))(table)
    with pytest.raises(LeftOut, match="another recipe's plan: use_algorithm declined"):
        query = "EVENT SEQ(A a, B+ b[]) WHERE strict_contiguity {b[i].v > 0}"
        listed(query, "postponed", needs=("use_algorithm",))(table)


def test_normalised_throughput_is_1_at_the_lightest_load():
    from experiments.core.plotting import _curve

    results = curves(a={10: 8.0, 1: 4.0})  # as they were measured: 10 is the lightest
    plot = Plot("events_per_s", "", "", relative=True)
    assert _curve(plot, results, "a", "") == [(1, 0.5), (10, 1.0)]


def test_the_papers_throughput_is_an_average_that_has_converged():
    assert converged(iter([(100, 1.0)] * 20)) == 100
    assert converged(iter([(100, 1.0), (300, 1.0)])) == 200
    seen = []
    batches = ((seen.append(number), (100, 1.0))[1] for number in range(100))
    converged(batches)
    assert len(seen) == 4  # the first, and three that change nothing


def test_the_interval_of_a_ratio_contains_its_median_and_shrinks_with_agreement():
    same = bootstrapped([0.5] * 10)
    assert same == (0.5, 0.5, 0.5) and same.told == "faster"
    spread = bootstrapped([0.8, 0.9, 1.0, 1.1, 1.3] * 3)
    assert spread.low < spread.median < spread.high and spread.told == "no difference seen"
    assert bootstrapped([1.2, 1.3, 1.4] * 5).told == "slower"

"""The classes of conditions agree with their definition, by the naive matcher's expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import pytest

from sase.binding import bind_text
from sase.binding.bound import Conjunct, ConjunctClass
from sase.binding.schema_file import schema_from
from sase.lang.parser import parse_query
from sase.planning.reasoning.consistency import Classified, Consistency, Growth, Trend, classified
from sase.planning.reasoning.walk_back import WalkStep, decided_walking_back
from tests.naive.conditions import Condition, Part, condition, conjuncts, is_true
from tests.naive.expressions import Event, Scope, Series
from tests.seeds import draw_numbers, share, tries
from tests.user_aggregates import added_here, define_all


@pytest.fixture(autouse=True)
def _defined() -> Iterator[None]:
    with added_here():
        define_all()
        yield


# b may be empty, and its D declares no p.
PATTERN = "EVENT SEQ(X x, A+ a[], ANY(B, D)* b[], C c)"
SCHEMA = schema_from(
    {
        "types": {
            **{name: {"n": "integer", "p": "float"} for name in "XABC"},
            "D": {"n": "integer"},
        }
    }
)
TRUE, FALSE = Consistency.TRUE, Consistency.FALSE
BOTH, NEITHER = Consistency.BOTH, Consistency.NEITHER
X, A, B, C = range(4)

# A condition, and its class where values may be NULL and where not.
FORMS = [
    ("a[i].n > 1", BOTH, BOTH),
    ("a[i].n > x.n", BOTH, BOTH),
    ("a[i].n > c.n", BOTH, BOTH),
    ("a[i].n < b[i].n", BOTH, BOTH),
    ("a[i].n IS NULL OR a[i].n + x.n = 2", BOTH, BOTH),
    ("a[i].n > a[i-1].n", NEITHER, NEITHER),
    ("a[i].n = last(a[..i-1].n)", NEITHER, NEITHER),
    ("a[i].n > a[1].n", NEITHER, NEITHER),
    ("a[1].n > 1", NEITHER, NEITHER),
    ("c.n > a[1].n", NEITHER, NEITHER),
    ("a[a.len].n > 1", NEITHER, NEITHER),
    ("c.n < 1.5 * a[a.len].n", NEITHER, NEITHER),
    ("first(a[].n) > 1", NEITHER, NEITHER),
    ("last(a[].n) > 1", NEITHER, NEITHER),
    ("a[i].n > max(a[..i-1].n)", NEITHER, TRUE),
    ("a[i].n < min(a[..i-1].n)", NEITHER, TRUE),
    ("a[i].n <= max(a[..i-1].n)", FALSE, FALSE),
    ("a[i].n > min(a[..i].n)", FALSE, FALSE),
    ("a[i].n > avg(a[..i-1].n)", NEITHER, NEITHER),
    ("sum(a[..i].n) > 1", NEITHER, NEITHER),
    ("sum(a[].n) < 1", NEITHER, NEITHER),
    ("avg(a[].n) < 1", NEITHER, NEITHER),
    ("stddev(a[].n) < 1", NEITHER, NEITHER),
    ("min(a[..i].n) > -1", NEITHER, TRUE),
    ("max(a[].n) < 1", NEITHER, TRUE),
    ("max(a[].n) > 1", FALSE, FALSE),
    ("most(a[].n) < 1", NEITHER, TRUE),
    ("most(a[].n) > 1", FALSE, FALSE),
    ("hashed(a[].n) > 500", NEITHER, NEITHER),
    ("cross(a[].(n, n)) > 1", NEITHER, NEITHER),
    ("c.n < max(a[].n)", FALSE, FALSE),
    ("c.n > 80% * max(a[].n)", NEITHER, TRUE),
    ("c.n > -80% * max(a[].n)", FALSE, FALSE),
    ("c.n > 1.5 - min(a[].n)", NEITHER, TRUE),
    ("count(a[]) <= 2", TRUE, TRUE),
    ("a.len <= 2", TRUE, TRUE),
    ("a.len >= 3", FALSE, FALSE),
    ("a.len = 2", NEITHER, NEITHER),
    ("count(a[].n) <= 2", TRUE, TRUE),
    ("a.len <= b.len", NEITHER, NEITHER),
    ("a.len BETWEEN 2 AND 3", NEITHER, NEITHER),
    ("max(a[].n) <= min(b[].n)", NEITHER, NEITHER),
    ("max(a[].n) IS NULL", TRUE, BOTH),
    ("max(a[].n) IS NOT NULL", FALSE, BOTH),
    ("min(a[..i].n) > 0 OR a.len <= 2", NEITHER, TRUE),
    ("min(a[..i].n) > 0 OR a.len >= 3", NEITHER, NEITHER),
    ("b[i].p > 1", BOTH, BOTH),
    ("max(b[].p) > 1", FALSE, FALSE),
    ("c.n > min(b[].p)", FALSE, FALSE),
    ("max(b[].n) < 1", NEITHER, NEITHER),
    ("max(b[].p) < 1", NEITHER, NEITHER),
]
# Of these the rules say less than holds: an event that a[..i] has may be its least one, and the
# values of an empty series are the only ones that are NULL.
CAUTIOUS = {"a.len <= b.len", "max(a[].n) <= min(b[].n)"}


def known(where: str) -> tuple[Conjunct, Classified, Classified, Condition]:
    """The condition, its class with NULLs and without, and the bindings for the naive matcher."""
    query = f"{PATTERN} WHERE {where}"
    bound = bind_text(query, SCHEMA)
    (conjunct,) = bound.conjuncts
    tree = parse_query(query)
    (naive,) = conjuncts(tree.where)
    maybe = classified(conjunct, bound.components)
    never = classified(conjunct, bound.components, lambda reference: False)
    return conjunct, maybe, never, condition(naive, SCOPE)


COMPONENTS = bind_text(PATTERN, SCHEMA).components
SCOPE = Scope(parse_query(PATTERN).pattern.parts, {}, None)  # type: ignore[union-attr, arg-type]


@dataclass(frozen=True)
class Pair:
    """A series of each component and the same with more events; the instance in both."""

    less: dict[int, Series]
    more: dict[int, Series]
    chosen: dict[int, Event]

    def truth(self, of: Condition, bound: dict[int, Series]) -> bool:
        """Whether the instance holds where the components have bound this."""
        at = {number: bound[number].index(event) for number, event in self.chosen.items()}
        return is_true(of.expression, replace(SCOPE, bound=bound, at=at))


class Draw:
    """Random series, and parts of them."""

    def __init__(self, seed: int, nulls: bool) -> None:
        self.random, self.nulls = Random(seed), nulls

    def event(self, place: int, name: str) -> Event:
        """An event of a type with small values."""
        values = {"n": self.value(), "p": self.value()}
        declared = frozenset("n" if name == "D" else "np")
        return Event(place, place, place, (place,), name, values, declared)

    def value(self) -> int | None:
        """Small, so that ties are frequent."""
        return None if self.nulls and self.random.random() < 0.3 else self.random.randint(-2, 4)

    def pair(self, of: Condition, growth: Growth) -> Pair | None:
        """Two series of each component, one within the other; None if this draw has none."""
        counts = (1, self.random.randint(1, 4), self.random.randint(0, 4), 1)
        names = ("X", "A", "BBBD", "C")
        more = {
            number: tuple(
                self.event(10 * number + place, self.random.choice(names[number]))
                for place in range(count)
            )
            for number, count in enumerate(counts)
        }
        last = {number: part for number, part in of.parts}
        # The part that grows forward is the last that is mentioned, walking back the first.
        ends = {Growth.LATER: max(last), Growth.EARLIER: min(last)}
        less = {
            number: self.part(number, series, growth)
            if number in (A, B) and ends.get(growth, number) == number
            else series
            for number, series in more.items()
        }
        chosen = {}
        for number, part in of.parts:
            if part == Part.CURRENT and number in (A, B):
                allowed = less[number][1 if number in of.from_second else 0 :]
                if not allowed:
                    return None
                chosen[number] = self.random.choice(allowed)
            elif part == Part.CURRENT:
                chosen[number] = less[number][0]
            elif part == Part.FIRST and max(of.parts) == (number, part) and not less[number]:
                return None
        return Pair(less, more, chosen)

    def part(self, number: int, series: Series, growth: Growth) -> Series:
        """Some of the events: any of them, or without the last or the first ones."""
        least = 1 if number == A or growth is not Growth.ANYWHERE else 0
        if len(series) <= least:
            return series
        count = self.random.randint(least, len(series))
        match growth:
            case Growth.LATER:
                return series[:count]
            case Growth.EARLIER:
                return series[len(series) - count :]
        places = sorted(self.random.sample(range(len(series)), count))
        return tuple(series[place] for place in places)

    def truths(self, of: Condition, growth: Growth, draws: int) -> Counter[tuple[bool, bool]]:
        """How often the truths over less and over more events are these."""
        found: Counter[tuple[bool, bool]] = Counter()
        for _ in range(draws):
            pair = self.pair(of, growth)
            if pair is not None:
                found[pair.truth(of, pair.less), pair.truth(of, pair.more)] += 1
        return found


def trends(of: Classified) -> dict[Growth, Trend]:
    """How the truth moves, for each way to add events."""
    trend = {TRUE: Trend.FALLING, FALSE: Trend.RISING, BOTH: Trend.STEADY, NEITHER: Trend.OPEN}
    anywhere = trend[of.consistency]
    return {Growth.ANYWHERE: anywhere, Growth.LATER: of.later, Growth.EARLIER: of.earlier}


def impossible(trend: Trend) -> Iterator[tuple[bool, bool]]:
    """Truths over less and over more events that a trend excludes."""
    if trend in (Trend.FALLING, Trend.STEADY):
        yield False, True
    if trend in (Trend.RISING, Trend.STEADY):
        yield True, False


def check(where: str, draws: int, seed: int) -> Counter[str]:
    """No draw contradicts a class; the claim, and how often it was tried."""
    conjunct, maybe, never, naive = known(where)
    assert conjunct.kind is not ConjunctClass.NEGATIVE
    tried: Counter[str] = Counter()
    for nulls, found in ((True, maybe), (False, never)):
        for growth, trend in trends(found).items():
            truths = Draw(seed, nulls).truths(naive, growth, draws)
            for pair in impossible(trend):
                assert truths[pair] == 0, f"{where}: {growth} {trend}, NULLs: {nulls}"
            tried[trend.name] += truths.total()
    return tried


@pytest.mark.random
@pytest.mark.parametrize(("where", "maybe", "never"), FORMS)
def test_the_class_of_each_form(where: str, maybe: Consistency, never: Consistency) -> None:
    """The table, and no draw contradicts it."""
    _, with_nulls, without, _ = known(where)
    assert (with_nulls.consistency, without.consistency) == (maybe, never)
    check(where, share(200), draw_numbers(2)[1])


@pytest.mark.parametrize("where", [form[0] for form in FORMS if form[0] not in CAUTIOUS])
def test_no_class_is_weaker_than_need_be(where: str) -> None:
    """For each class that is not claimed there is an example against it."""
    _, maybe, never, naive = known(where)
    for nulls, found in ((True, maybe), (False, never)):
        for growth, trend in trends(found).items():
            wanted = {(False, True), (True, False)} - set(impossible(trend))
            draw, missing = Draw(2, nulls), wanted
            for _ in range(100):
                if not missing:
                    break
                missing = missing - set(draw.truths(naive, growth, 100))
            assert not missing, f"{where}: {growth} {trend}, NULLs: {nulls}, no {missing}"


# ---------------------------------------------------------------- conditions that chance makes

VALUES = [
    *("x.n", "c.n", "2", "a[i].n", "a[i-1].n", "a[1].n", "a[a.len].n", "b[i].p", "b[1].n"),
    *("a.len", "b.len", "count(a[..i-1].n)", "max(a[..i].n)", "max(a[..i-1].n)", "min(a[].n)"),
    *("max(b[].p)", "max(b[].n)", "min(b[..i].p)", "sum(b[].n)", "avg(a[..i-1].n)", "first(b[].p)"),
    *("last(a[..i-1].n)", "last(a[..i].n)", "last(b[].p)", "first(a[..i].n)", "count(b[].p)"),
    *("50% * max(a[].n)", "0.5 - min(b[].p)", "-max(b[].p)", "max(a[].n) / -2", "stddev(a[].n)"),
    *("max(a[].n) + 1", "min(a[].n) * x.n", "abs(max(a[].n))", "coalesce(max(b[].n), 1)"),
]


def some_condition(random: Random, depth: int = 1) -> str:
    """A condition on some of the values."""
    left, right, other = (random.choice(VALUES) for _ in range(3))
    shapes = [f"{left} {sign} {right}" for sign in ("<", "<=", ">", ">=", "=", "!=")]
    shapes += [f"{left} BETWEEN {right} AND {other}", f"{left} NOT BETWEEN {right} AND {other}"]
    shapes += [f"{left} IS NULL", f"{left} IS NOT NULL", f"{left} IN (1, 2)"]
    if depth:
        parts = [some_condition(random, depth - 1) for _ in range(2)]
        shapes += [f"({parts[0]} OR {parts[1]})", f"({parts[0]} OR ({parts[1]} AND x.n = 2))"] * 3
    return random.choice(shapes)


def some_conditions(seed: int, count: int) -> list[str]:
    """A number of them, of which none is decided without events."""
    random, found = Random(seed), list[str]()
    while len(found) < count:
        where = some_condition(random)
        conjuncts = bind_text(f"{PATTERN} WHERE {where}", SCHEMA).conjuncts
        if [each.kind for each in conjuncts] not in ([], [ConjunctClass.CONSTANT]):
            found.append(where)
    return found


@pytest.mark.heavy
@pytest.mark.random
def test_classes_of_random_conditions_hold() -> None:
    """None is contradicted, and each class comes up often enough to mean something."""
    tried: Counter[str] = Counter()
    for first in tries(draw_numbers(120)[0]):
        for number, where in enumerate(some_conditions(first + 7, 120), first):
            tried += check(where, 60, number)
        if all(tried[trend.name] > 500 for trend in Trend):
            return


# ---------------------------------------------------------------- where the walk back decides

STEPS = [
    ("x.n > c.n", X, WalkStep.ENTERING, False),
    ("a[i].n > 1", A, WalkStep.CHOOSING, False),
    ("a[i].n > x.n", X, WalkStep.ENTERING, False),
    ("a[i].n < b[i].n", A, WalkStep.CHOOSING, False),
    ("b[i].n > b[i-1].n", B, WalkStep.FURTHER, False),
    ("last(a[..i-1].n) < a[i].n", A, WalkStep.FURTHER, False),
    ("a[a.len].n > c.n", A, WalkStep.ENTERING, False),
    ("last(a[].n) > a[i].n", A, WalkStep.CHOOSING, False),
    ("a[1].n > 1", A, WalkStep.LEAVING, False),
    ("a[i].n > a[1].n", A, WalkStep.LEAVING, False),
    ("b[1].n > 1", B, WalkStep.LEAVING, False),
    ("b[1].n > c.n", B, WalkStep.LEAVING, True),
    ("b[b.len].n > c.n", B, WalkStep.ENTERING, True),
    ("last(b[].p) > c.n", B, WalkStep.LEAVING, True),
    ("b.len <= 2", B, WalkStep.LEAVING, True),
    ("max(b[..i].n) < 3", B, WalkStep.LEAVING, False),
    ("max(a[].n) < max(b[].n)", A, WalkStep.LEAVING, False),
]


@pytest.mark.parametrize(("where", "component", "step", "when_empty"), STEPS)
def test_the_step_of_each_form(
    where: str, component: int, step: WalkStep, when_empty: bool
) -> None:
    """The first step at which it is known."""
    bound = bind_text(f"{PATTERN} WHERE {where}", SCHEMA)
    decided = decided_walking_back(bound.conjuncts[0], bound.components)
    assert decided is not None
    assert (decided.component, decided.step, decided.when_empty) == (component, step, when_empty)


def settled(
    naive: Condition, step: WalkStep, component: int, draw: Draw, draws: int
) -> Counter[bool]:
    """How often the truth at a step is that in the whole match."""
    found: Counter[bool] = Counter()
    for _ in range(draws):
        pair = draw.pair(naive, Growth.ANYWHERE)
        if pair is None or not pair.more[component]:
            continue
        series = pair.more[component]
        chosen = pair.chosen.get(component)
        place = series.index(chosen) if chosen else len(series) - 1
        start = {
            WalkStep.ENTERING: len(series) - 1,
            WalkStep.CHOOSING: place,
            WalkStep.FURTHER: max(place - 1, 0),
            WalkStep.LEAVING: 0,
        }[step]
        if start > place:
            continue
        now = {**pair.more, component: series[start:]}
        found[pair.truth(naive, now) == pair.truth(naive, pair.more)] += 1
    return found


def test_what_is_decided_stays_and_is_not_known_before() -> None:
    """Of each form, and of conditions that chance makes, the step is right."""
    wheres = [form for form, *_ in (*STEPS, *FORMS)] + some_conditions(11, 60)
    steps: Counter[WalkStep] = Counter()
    for number, where in enumerate(wheres):
        conjunct, *_, naive = known(where)
        decided = decided_walking_back(conjunct, COMPONENTS)
        assert decided is not None
        found = settled(naive, decided.step, decided.component, Draw(number, True), 25)
        assert not found[False], f"{where}: {decided}"
        steps[decided.step] += found[True]
    assert all(steps[step] > 75 for step in WalkStep), steps
    for where, component, step, _ in STEPS:
        if step > WalkStep.CHOOSING:  # no condition is on an event that is not chosen
            *_, naive = known(where)
            before = settled(naive, WalkStep(step - 1), component, Draw(3, True), 500)
            assert before[False], f"{where} is known before {step}"


def test_each_i_is_chosen_before_others() -> None:
    """An absence is not looked at before the match is known."""
    bound = bind_text("EVENT SEQ(A+ a[], !(B b), C c) WHERE b.n > a[i].n AND 1 = :one", SCHEMA)
    kinds = [each.kind for each in bound.conjuncts]
    assert kinds == [ConjunctClass.NEGATIVE, ConjunctClass.CONSTANT]
    for conjunct in bound.conjuncts:
        assert decided_walking_back(conjunct, bound.components) is None
    found = [classified(each, bound.components) for each in bound.conjuncts]
    assert [each.consistency for each in found] == [NEITHER, BOTH]


def test_the_reason_says_what_moves() -> None:
    """In words, with the references as they are written."""
    said = {form: known(form)[1].reason for form, *_ in FORMS}
    assert said["a[i].n > 1"] == "no other event of a series changes its truth"
    assert said["a.len <= 2"] == (
        "count(a[]) can only rise with more events,"
        " so a condition that is true of all events is true of some of them"
    )
    assert "may be of another event" in said["a[i].n > a[i-1].n"]
    assert "is NULL until one has a value" in said["a[i].n > max(a[..i-1].n)"]

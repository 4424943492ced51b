"""Describe each operator of a plan: its algorithm, its reasons, and its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    EquivalenceTest,
    Placeholder,
    WindowKind,
    elements_of,
)
from sase.binding.values.text import Names, condition_text, test_text, value_text, window_text
from sase.planning.branches import KEEPS_EVERY_KEY, SharedScan, shared_scans, wait_for_copies
from sase.planning.cost.cost import handed_on
from sase.planning.explain.runs import admitted, algorithm_of, conjunct_text, details_of
from sase.planning.physical.runs import choose_runs
from sase.planning.plan import negatives, nodes
from sase.planning.plan.basic import decided_at
from sase.planning.plan.match_windows import MatchWindow, first_levels, steps_of
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
)
from sase.planning.plan.trees import JoinPart, part_of, parts_of, tree_text
from sase.planning.quantities import counted, percentage
from sase.planning.reasoning.run_forms import why_all_go_on
from sase.planning.statistics import Statistics

# ---------------------------------------------------------------- operators

SYMBOLS = {
    MatchWindow: "MW",
    nodes.SequenceScan: "SS→",
    nodes.SequenceConstruction: "SC←",
    nodes.RunEvaluation: "NFAb",
    nodes.Selection: "σ",
    nodes.Window: "WD",
    nodes.Negation: "NG",
    nodes.Confidence: "P",
    nodes.Union: "∪",
    nodes.Transformation: "TF",
}


# How matches of a negative sequence are found.
SEARCHES = {
    negatives.SequenceSearch.IN_GAPS: "looked for in each gap",
    negatives.SequenceSearch.TIGHT: "by a tight index, which has the latest start by each end",
}


def symbol_of(operator: nodes.Operator) -> str:
    """The papers' symbol of an operator, or its name."""
    return SYMBOLS.get(type(operator), type(operator).__name__)


@dataclass(frozen=True)
class OperatorText:
    """Describes the operators of a plan, with the names of components."""

    plan: nodes.Operator
    names: Names
    levels: tuple[BoundComponent, ...]

    @classmethod
    def of(cls, plan: nodes.Operator) -> OperatorText:
        """The descriptions for a plan."""
        return cls(plan, nodes.variables_of(plan), nodes.reading(plan).components)

    def algorithm(self, operator: nodes.Operator) -> str:
        """The algorithm, by the papers' name."""
        match operator:
            case MatchWindow():
                return f"match windows ({operator.method})"
            case nodes.SequenceScan(stacks=nodes.Stacks.NFA):
                return "runtime stack of the NFA"
            case nodes.SequenceScan(stacks=nodes.Stacks.LEAVES, partitions=keys):
                chains = f" in chains by {_listed(keys[0])}" if keys else ""
                return f"a leaf buffer for each component{chains} (ZStream)"
            case nodes.SequenceScan(partitions=()):
                return "active instance stacks (AIS)"
            case nodes.SequenceScan(partitions=(key,)):
                kind = "PAIS, composite key" if len(key) > 1 else "PAIS"
                return f"active instance stacks partitioned on {_listed(key)} ({kind})"
            case nodes.SequenceScan(partitions=keys):
                every = " and on ".join(map(_listed, keys))
                return f"active instance stacks partitioned on {every} (Multi-PAIS)"
            case nodes.SequenceConstruction(joins=joins) if joins:
                return f"joins of leaf buffers: {self._tree(joins)}"
            case nodes.SequenceConstruction(input=scan):
                walked = (
                    "pointers of the runtime stack" if scan.stacks is nodes.Stacks.NFA else "stacks"
                )
                return f"walk back from each {self.levels[-1].variable} through the {walked}"
            case nodes.RunEvaluation():
                return algorithm_of(choose_runs(self.plan))
            case nodes.Union(branches=branches):
                return f"union of {len(branches)} branches in one order, each match once"
            case nodes.Negation():
                by_time = " in order of time alone" if operator.by_time else ""
                return f"negation by an index of negative events{by_time}"
            case nodes.Confidence(enumerates=True):
                return "confidence by enumeration of worlds"
            case nodes.Confidence():
                return "confidence in closed form, by polynomials between the bounds of time"
            case _:
                return type(operator).__name__.lower()

    def details(self, operator: nodes.Operator) -> Iterator[str]:
        """The checks and columns of an operator; an unknown operator shows its fields."""
        if type(operator) not in SYMBOLS:
            names = [each.name for each in fields(operator) if each.name != "input"]
            yield from (f"{name}: {getattr(operator, name)}" for name in names)
            return
        match operator:
            case MatchWindow():
                yield from self._match_window(operator)
            case nodes.SequenceScan():
                yield from self._scan(operator)
            case nodes.SequenceConstruction():
                yield from self._construction(operator)
            case nodes.RunEvaluation():
                yield from details_of(choose_runs(self.plan), self.names)
                yield from _within(operator.window)
                yield from _read(operator.columns)
            case nodes.Selection():
                yield from (conjunct_text(each, self.names) for each in operator.conditions)
                yield from _tests(operator.equivalences)
            case nodes.Window():
                yield from _within(operator.window)
            case nodes.Negation():
                yield from map(self.negative, operator.elements)
            case nodes.Confidence():
                yield self._threshold(operator)
                yield from _within(operator.window)
                yield from map(self.negative, operator.elements)
            case nodes.Union():
                scans = shared_scans(operator)
                yield from (_shared(each) for each in scans if len(each.branches) > 1)
                if len(scans) > 1 and (copies := wait_for_copies(operator)) is not None:
                    yield copies.value
            case nodes.Transformation():
                yield from self._transformation(operator)

    def _threshold(self, confidence: nodes.Confidence) -> str:
        least = confidence.threshold
        if least is None:
            return "above 0"
        value = f":{least.name}" if isinstance(least, Placeholder) else f"{float(least):g}"
        return f"above {value}" if confidence.strict else f"at least {value}"

    def negative(self, negative: negatives.NegativeElement) -> str:
        """A negative element of whole sequences, and how its matches are found."""
        text = self._absent(negative)
        if isinstance(negative, negatives.NegativeComponent):
            return text
        return f"{text}: {SEARCHES[negative.search]}"

    def _absent(self, negative: negatives.NegativeElement) -> str:
        """The gap of a negative element, and its events."""
        after = None if negative.after is None else self._element(negative.after)
        before = None if negative.before is None else self._element(negative.before)
        if after is None:
            where = f"before {before}, within the window"
        elif before is None:
            where = f"after {after}, within the window"
        else:
            where = f"between {after} and {before}"
        own = [conjunct_text(each, self.names) for each in negative.conditions]
        agreeing = [f"the same {_listed(negative.equivalences)}"] if negative.equivalences else []
        such = " with " + " and ".join([*agreeing, *own]) if agreeing or own else ""
        if isinstance(negative, negatives.NegativeComponent):
            return f"no {admitted(negative.component)} {where}{such}"
        inside = ", ".join(
            f"!({admitted(each)})" if each.negated else admitted(each)
            for each in negative.components
        )
        return f"no SEQ({inside}) {where}{such}"

    def _element(self, level: int) -> str:
        """The name of a level's component, or of its set."""
        places = next(each for each in elements_of(self.levels) if level in each)
        names = [self.levels[place].variable for place in places]
        return f"SET({', '.join(names)})" if len(names) > 1 else names[0]

    def _match_window(self, windows: MatchWindow) -> Iterator[str]:
        yield "filter: an event is of a component by its own conditions"
        if windows.partitions:
            yield f"partitions: a window for each {_listed(windows.partitions)}"
        if windows.counts:
            first = [self.levels[level].variable for level in first_levels(self.levels)]
            yield f"counters: it begins with {' or '.join(first)}"
            steps = [
                " and ".join(self.levels[level].variable for level in step)
                for step in steps_of(self.levels)
            ]
            yield f"counters: it has {', then '.join(steps)}"
        yield from _within(windows.window)

    def _scan(self, scan: nodes.SequenceScan) -> Iterator[str]:
        if scan.nothing is not None:
            yield f"no event can take part: {scan.nothing}"
        for component in scan.components:
            own = [c for c in scan.conditions if c.references == (component.index,)]
            conditions = " AND ".join(conjunct_text(each, self.names) for each in own)
            yield admitted(component) + (f" WHERE {conditions}" if own else "")
        for test in scan.values:
            yield f"[{test_text(test)}]"
        for test in scan.inferred:
            yield f"equal by the conditions: {test.attribute}"
        if scan.window is not None:
            yield f"drops instances older than {duration_text(scan.window)}"
        yield from _read(scan.columns)

    def _construction(self, construction: nodes.SequenceConstruction) -> Iterator[str]:
        yield from _within(construction.window)
        yield from _tests(construction.equivalences)
        joins = construction.joins
        for conjunct in construction.conditions:
            text = conjunct_text(conjunct, self.names)
            if joins:
                part = list(parts_of(joins))[part_of(joins, self.levels, conjunct)]
                yield f"when {self._part(part)} is joined: {text}"
            else:
                first = self.levels[decided_at(self.levels, conjunct)].variable
                yield f"when {first} is chosen: {text}"
        for negative in construction.negations:
            bounds = "its join" if joins else "the walk"
            yield f"{self._absent(negative)}: it bounds {bounds}"
        for sequence in construction.sequences:
            yield f"{self._absent(sequence)}: the latest start by each end bounds the walk"
        if construction.limit is not None:
            yield f"stops after {construction.limit:,}"

    def _tree(self, joins: Sequence[int]) -> str:
        return tree_text(joins, [each.variable for each in self.levels])

    def _part(self, part: JoinPart) -> str:
        """The variables that a join binds."""
        return " ".join(each.variable for each in self.levels[part.low : part.high + 1])

    def _transformation(self, top: nodes.Transformation) -> Iterator[str]:
        if top.having is not None:
            yield f"HAVING {condition_text(top.having, self.names)}"
        if top.columns is None:
            yield f"every attribute of {', '.join(each.variable for each in self.levels)}"
        else:
            columns = [(value_text(c.value, self.names), c.name) for c in top.columns]
            yield "RETURN " + ", ".join(
                text if text.replace(".", "_") == name else f"{text} AS {name}"
                for text, name in columns
            )
        if top.type_name is not None:
            yield f"as events of type {top.type_name}"
        if top.non_overlapping is not None:
            agreeing = f" of the same {_listed(top.non_overlapping)}" if top.non_overlapping else ""
            ends = ", which ends all other runs of its partition" if top.prunes else ""
            yield f"non_overlap: of matches{agreeing} that overlap, the first alone{ends}"
            if (reason := why_all_go_on(top)) is not None:
                yield f"before it runs that are alike all go on: {reason}"
        if top.limit is not None:
            limit = f":{top.limit.name}" if isinstance(top.limit, Placeholder) else f"{top.limit:,}"
            yield f"LIMIT {limit}"


def duration_text(window: BoundWindow) -> str:
    """A window as text."""
    return window_text(window, ",.12g", "units of time")


def _within(window: BoundWindow | None) -> Iterator[str]:
    if window is not None:
        yield f"within {duration_text(window)}"
        if window.kind is WindowKind.PARTITION_EVENTS:
            yield KEEPS_EVERY_KEY


def _read(columns: tuple[str, ...] | None) -> Iterator[str]:
    if columns is not None:
        yield f"reads {', '.join(columns) or 'no column'} beside time and type"


def _tests(tests: Iterable[EquivalenceTest]) -> Iterator[str]:
    yield from (f"all agree on {test_text(test)}" for test in tests)


def _listed(tests: Iterable[EquivalenceTest]) -> str:
    return ", ".join(map(test_text, tests))


def _shared(scan: SharedScan) -> str:
    """The branches that a scan serves."""
    numbers = ", ".join(str(number + 1) for number in scan.branches)
    components = nodes.require(scan.plan, nodes.SequenceScan).components
    telling = " and ".join(components[level].variable for level in scan.levels)
    return f"branches {numbers} share one scan: the type of {telling} tells them apart"


# ---------------------------------------------------------------- reasons


def reasons(
    operator: Operator, words: OperatorText, statistics: Statistics | None
) -> Iterator[str]:
    """Sentences, most important first."""
    if statistics is None:
        return
    if isinstance(operator, SequenceScan | RunEvaluation) and operator.input is not None:
        near = percentage(handed_on(operator, operator.input, statistics))
        yield f"match windows hand on about {near} of the events of its types"
    match operator:
        case SequenceScan():
            yield from _of_scan(operator, words, statistics)
        case SequenceConstruction() | Selection():
            if isinstance(operator, SequenceConstruction) and operator.joins:
                yield from _of_tree(operator, statistics)
            for conjunct in operator.conditions:
                if len(conjunct.references) > 1:
                    text = condition_text(conjunct.condition, words.names)
                    share = statistics.selectivity(text)
                    if share is not None:
                        yield f"{text} lets {percentage(share)} pass"


def _of_tree(construction: SequenceConstruction, statistics: Statistics) -> Iterator[str]:
    """The component from which joins begin."""
    components = construction.input.components
    rows = [statistics.rows_of(each.types) for each in components]
    rarest = components[rows.index(min(rows))].variable
    yield f"the rarest is {rarest}, {percentage(min(rows) / max(statistics.rows, 1))} of all events"


def _of_scan(scan: SequenceScan, words: OperatorText, statistics: Statistics) -> Iterator[str]:
    for component in scan.components:
        share = statistics.admission(component.variable)
        if (
            share is not None
            and share < 1
            and any(c.references == (component.index,) for c in scan.conditions)
        ):
            yield f"{percentage(share)} of the events of {component.variable} pass"
    keys = [test for key in scan.partitions for test in key]
    if keys and len(scan.components) > 1:
        first, last = scan.components[0].variable, scan.components[-1].variable
        share = statistics.agreement([t.attribute for t in scan.partitions[0]], (first, last))
        removes = "" if share is None else f", removes {percentage(1 - share)} of candidate pairs"
        values = "; ".join(_values(test, words, statistics) for test in keys)
        yield f"partitioned on {values}{removes}"
    others = [test for test in scan.tests if test not in keys and test.value is None]
    if others:
        yield f"not on {'; '.join(_values(test, words, statistics) for test in others)}"


def _values(test: EquivalenceTest, words: OperatorText, statistics: Statistics) -> str:
    """An attribute with its number of values."""
    types = (name for component in words.levels for name in component.types or ())
    attributes = statistics.attributes(test.attribute, types)
    known = [each.distinct for each in attributes if each.distinct is not None]
    values = f": {counted(max(known))} values" if known else ""
    return f"{test.attribute}{values}"

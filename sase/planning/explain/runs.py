"""Describe run evaluation: its algorithm, and where conditions are decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sase.binding.bound import (
    BoundComponent,
    BoundNegation,
    Conjunct,
    ConjunctClass,
    IterationBranch,
    Part,
    Quantified,
    RepeatedGroup,
    When,
    elements_of,
)
from sase.binding.conditions.parts import references
from sase.binding.values.text import Names, condition_text, quantifier_text, test_text
from sase.lang.ast import StrategyName
from sase.planning.physical import runs as algorithms
from sase.planning.physical.run_algorithm import RunAlgorithm
from sase.planning.plan.nodes import RunEvaluation
from sase.planning.plan.trees import (
    decided_by_joins,
    leaf_levels,
    part_of,
    parts_of,
    set_joins,
    tree_text,
)
from sase.planning.reasoning.run_forms import exclusions

# How a run treats an event that it does not take.
_LEFT = {
    StrategyName.SKIP_TILL_ANY_MATCH: "a run may ignore any event",
    StrategyName.SKIP_TILL_NEXT_MATCH: "a run skips the events that it cannot bind next",
    StrategyName.STRICT_CONTIGUITY: "a run ends at the first event that it does not take",
    StrategyName.PARTITION_CONTIGUITY: (
        "a run ends at the first event of its partition that it does not take"
    ),
    StrategyName.EARLIEST_MAXIMAL: "a run skips only the events that it can bind in no way",
}
# The edge on which a condition is decided.
_EDGES = {
    When.EVENT: "on begin",
    When.FIRST: "on begin",
    When.EVERY: "on begin and take",
    When.FURTHER: "on take",
    When.WHOLE: "on proceed from",
}


def algorithm_of(algorithm: RunAlgorithm) -> str:
    """The algorithm of the runs, with its key."""
    runs = algorithm.runs
    keys = ", ".join(map(test_text, runs.partitions))
    last = runs.components[-1]
    return algorithm.text.format(
        by_key=f", partitioned on {keys}" if keys else "",
        last=last.variable if last.is_single else "event that may be the last",
        tree=_tree(runs) if runs.algorithm == algorithms.SetJoins.name else "",
    )


def _tree(runs: RunEvaluation) -> str:
    """The joins of a tree."""
    if runs.has_sets:
        return tree_text(set_joins(runs.components), [c.variable for c in runs.components])
    leaves = (runs.components[level] for level in leaf_levels(runs.components))
    names = [f"{each.variable}{'' if each.is_single else '[]'}" for each in leaves]
    return tree_text(runs.joins, names)


def details_of(algorithm: RunAlgorithm, names: Names) -> Iterator[str]:
    """The admitted events, the strategy, and the edge or step that decides each condition."""
    runs = algorithm.runs
    if runs.nothing is not None:
        yield f"no event can take part: {runs.nothing}"
    for component in runs.components:
        yield from _component(component, runs, names)
    for members in _sets(runs):
        yield f"in any order: {', '.join(each.variable for each in members)}"
    if runs.is_of_intervals:
        yield from map(_order, (each for each in runs.components if each.is_series))
        if runs.least is not None:
            yield "walks end where the order of the chosen events is below the threshold"
    yield f"{runs.strategy.value}: {_LEFT[runs.strategy]}"
    if isinstance(algorithm, algorithms.RunsInStretches):
        for one, other in exclusions(runs):
            what = f"a further {one.variable} and the first {other.variable}"
            yield f"no event is both {what}: their conditions exclude each other"
    match algorithm:
        case algorithms.PostponedWalk() | algorithms.IntervalWalk():
            yield from _walked(runs, names)
        case algorithms.SetJoins() | algorithms.SeriesJoins():
            yield from _joined(runs, names)
        case algorithms.MatchGraph() | algorithms.GroupGraph() | algorithms.ExpandedGraph():
            yield from _of_neighbours(runs, names)
        case _:
            yield from _on_edges(runs, names)
    for test in runs.equivalences:
        if test.value is not None:
            yield f"[{test_text(test)}]"
        elif test not in runs.partitions:
            yield f"all agree on {test_text(test)}"


def _order(series: BoundComponent) -> str:
    """Whether the order of a series' events matters, with imprecise time."""
    if series.is_sequence:
        return f"{series.variable} is a sequence: something asks for the order of its events"
    return f"{series.variable} is a set: nothing asks for the order of its events"


def _sets(runs: RunEvaluation) -> Iterator[list[BoundComponent]]:
    for levels in elements_of(runs.components):
        if len(levels) > 1:
            yield [runs.components[level] for level in levels]


def admitted(component: BoundComponent) -> str:
    """The types and number of events of a component; for a group its content."""
    if component.group is not None:
        branches = " OR ".join(map(_iteration, component.group.branches))
        return f"{component.variable}: ({branches}){quantifier_text(component)}"
    types = "any type" if component.types is None else " or ".join(component.types)
    times = quantifier_text(component)
    if times and (component.types is None or len(component.types) > 1):
        types = f"({types})"
    return f"{component.variable}: {types}{times}"


def _iteration(branch: IterationBranch) -> str:
    parts = [f"{'!' if each.negated else ''}{admitted(each)}" for each in branch.elements]
    for negation in reversed(branch.negations):
        parts.insert(negation.position, f"!({_sequence(negation)})")
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]


def _sequence(negation: BoundNegation) -> str:
    """The elements of a negative sequence."""
    parts = [f"{'!' if each.negated else ''}{admitted(each)}" for each in negation.components]
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]


def _component(component: BoundComponent, runs: RunEvaluation, names: Names) -> Iterator[str]:
    """A component with the conditions on one event."""
    own = [c for c in runs.simple if c.component == component.index]
    always = [conjunct_text(c, names) for c in own if c.when is not When.FIRST]
    first = [conjunct_text(c, names) for c in own if c.when is When.FIRST]
    yield admitted(component) + (f" WHERE {' AND '.join(always)}" if always else "")
    if first:
        yield f"{component.variable}, the first event: WHERE {' AND '.join(first)}"


def _on_edges(runs: RunEvaluation, names: Names) -> Iterator[str]:
    """The conditions, with the automaton edges on which they are decided."""
    variables = {component.index: component for component in runs.components}
    for edge in runs.conditions:
        conjunct = edge.conjunct
        text = conjunct_text(conjunct, names)
        if conjunct.component is None or conjunct.kind is ConjunctClass.CONSTANT:
            yield f"on begin: {text}"
            continue
        component = variables[conjunct.component]
        if conjunct.checks:
            edges = [f"{_EDGES[each.when]} {names[each.component]}" for each in conjunct.checks]
            yield f"{' or '.join(edges)}, at the one bound last: {text}"
            continue
        left = component.variable
        if conjunct.when is When.WHOLE and component.set_of is not None:
            left = next(_listed(each) for each in _sets(runs) if component in each)
        where = f"{_EDGES[conjunct.when]} {left}"
        # A condition of a group may range over iterations, although it is checked after them.
        others = [r for r in edge.ranges if component.group or r.component != component.index]
        yield f"{where}{_ranges(others, variables, names)}: {text}"
    for component in runs.components:
        if component.group is not None:
            yield from _in_iterations(component, component.group, variables, names)


def _listed(members: Sequence[BoundComponent]) -> str:
    return " and ".join(each.variable for each in members)


# The iterations to which a condition applies.
_ITERATIONS = {
    When.FIRST: "in the first iteration",
    When.EVERY: "in each iteration",
    When.FURTHER: "in each iteration but the first",
}


def _in_iterations(
    own: BoundComponent, group: RepeatedGroup, variables: Mapping[int, BoundComponent], names: Names
) -> Iterator[str]:
    """The conditions decided inside a repeated group."""
    for number, branch in enumerate(group.branches, 1):
        of = f" of branch {number}" if len(group.branches) > 1 else ""
        for conjunct in branch.conjuncts:
            element = branch.elements[conjunct.element]
            edge = "forbids" if element.negated else _EDGES[conjunct.when]
            where = f"{_ITERATIONS[conjunct.iterations]} of {own.variable}{of}, {edge}"
            ranges = _ranges(conjunct.quantified, variables, names)
            text = condition_text(conjunct.condition, names)
            yield f"{where} {element.variable}{ranges}: {text}"
        for negation in branch.negations:
            sequence = ", ".join("!" * c.negated + c.variable for c in negation.components)
            for asked in negation.conjuncts:
                where = f"{_ITERATIONS[When.EVERY]} of {own.variable}{of}, forbids {sequence}"
                ranges = _ranges(asked.quantified, variables, names)
                yield f"{where}{ranges}: {conjunct_text(asked, names)}"


def _ranges(
    ranges: Sequence[Quantified], variables: Mapping[int, BoundComponent], names: Names
) -> str:
    """The series over which a condition ranges, except the current one."""
    if not ranges:
        return ""
    series = [
        f"each {_ranging(each, variables, names)}" + (" but the first" if each.but_first else "")
        for each in ranges
    ]
    return f", for {' and '.join(series)}"


def _ranging(each: Quantified, variables: Mapping[int, BoundComponent], names: Names) -> str:
    """A series, or a repeated group with the branches of its iterations."""
    component = variables.get(each.component)
    if component is None or component.group is None:
        return names[each.component]
    if each.inner is not None:
        return component.group.variables[each.inner].variable
    numbers = ", ".join(str(number + 1) for number in each.branches or ())
    of = f" of branch {numbers}" if numbers else ""
    return f"iteration{of} of {names[each.component]}"


def _walked(runs: RunEvaluation, names: Names) -> Iterator[str]:
    """The conditions, with the step of the walk at which they are decided."""
    variables = {component.index: component for component in runs.components}
    for conjunct in runs.early:
        found = list(references(conjunct.condition))
        earliest = variables[min(each.component for each in found)]
        parts = {each.part for each in found if each.component == earliest.index}
        yield f"on the way back, {_chosen(earliest, parts)}: {conjunct_text(conjunct, names)}"
    for conjunct in runs.dismissing:
        yield f"no walk where it is false of every candidate: {conjunct_text(conjunct, names)}"
    for conjunct in runs.discarding:
        further = "further " if conjunct.when is When.FURTHER else ""
        text = conjunct_text(conjunct, names)
        yield f"no {further}candidate where it is false with every one before: {text}"
    for edge in runs.conditions:
        text = conjunct_text(edge.conjunct, names)
        if edge.conjunct in runs.safe:
            yield f"when a match is whole, but SAFE where true of every candidate: {text}"
        else:
            unsafe = " (UNSAFE)" if _has_filters(runs) else ""
            yield f"when a match is whole{unsafe}: {text}"


def _joined(runs: RunEvaluation, names: Names) -> Iterator[str]:
    """The conditions, with the join that decides them; walks decide the others."""
    components, joins = runs.components, set_joins(runs.components)
    decided = [edge.conjunct for edge in runs.conditions]
    if not runs.has_sets:
        components, joins = tuple(components[n] for n in leaf_levels(components)), runs.joins
        decided = decided_by_joins(runs.components, runs.conditions)
    parts = list(parts_of(joins))
    for conjunct in decided:
        number = part_of(joins, components, conjunct) if conjunct.references else -1
        low, _, high = parts[number]
        joined = ", ".join(each.variable for each in components[low : high + 1])
        yield f"where {joined} are joined: {conjunct_text(conjunct, names)}"
    for edge in runs.conditions:
        if edge.conjunct not in decided:
            yield f"when a match is whole: {conjunct_text(edge.conjunct, names)}"


def _has_filters(runs: RunEvaluation) -> bool:
    """Whether conditions are decided before a match is complete."""
    return bool(runs.early or runs.dismissing or runs.discarding or runs.safe)


def _of_neighbours(runs: RunEvaluation, names: Names) -> Iterator[str]:
    """The conditions on adjacent events of a match."""
    for conjunct in runs.early:
        yield f"between neighbours: {conjunct_text(conjunct, names)}"


def _chosen(component: BoundComponent, parts: set[Part]) -> str:
    name = component.variable
    if Part.PREVIOUS in parts:
        return f"when a {name} before another is chosen"
    if Part.CURRENT in parts and component.is_series:
        return f"when any {name} is chosen"
    return f"when the last {name} is chosen" if component.is_series else f"when {name} is chosen"


def conjunct_text(conjunct: Conjunct, names: Names) -> str:
    """A condition, marked if it was derived from others."""
    text = condition_text(conjunct.condition, names)
    return f"{text} (derived)" if conjunct.derived else text

"""At which moments of a run conditions are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sase.binding.bound import (
    BoundComponent,
    Conjunct,
    ConjunctClass,
    IterationConjunct,
    MemberCheck,
    When,
)
from sase.planning.automaton.automaton import At, Check, Moment, PatternAutomaton, PatternState
from sase.planning.iteration_paths import is_of_one_event

# The moments of a state at which a condition is checked, by `When`.
MOMENTS = {
    When.EVENT: (At.BEGIN,),
    When.FIRST: (At.BEGIN,),
    When.EVERY: (At.BEGIN, At.TAKE),
    When.FURTHER: (At.TAKE,),
    When.WHOLE: (At.FINISH,),
}


def checks_of(
    automaton: PatternAutomaton,
    components: Sequence[BoundComponent],
    conjuncts: Sequence[Conjunct],
) -> Iterator[Check]:
    """All checks: of conjuncts on the pattern, then of those on iterations, by state."""
    levels = {component.index: level for level, component in enumerate(components)}
    states = {each.level: each.number for each in automaton.states}
    for conjunct in conjuncts:
        if conjunct.kind is ConjunctClass.CONSTANT or conjunct.component is None:
            for state in automaton.states:
                yield Check(conjunct.condition, Moment(At.BEGIN, state.number))
        elif conjunct.checks:
            for check in conjunct.checks:
                awaited = tuple(states[levels[each]] for each in check.awaited)
                yield from _member(conjunct, check, states[levels[check.component]], awaited)
        else:
            yield from _component(automaton, conjunct, states[levels[conjunct.component]])
    for each in automaton.states:
        group = components[each.level].group
        for own in () if group is None else group.branches[each.branch].conjuncts:
            if own.element == each.place:
                yield from _iteration(own, components[each.level].index, each)


def _member(
    conjunct: Conjunct, check: MemberCheck, state: int, awaited: tuple[int, ...]
) -> Iterator[Check]:
    """A condition where one of several members of a set is bound last."""
    own = check.component if At.TAKE in MOMENTS[check.when] else None
    for at in MOMENTS[check.when]:
        moment = Moment(at, state)
        yield Check(conjunct.condition, moment, own, check.quantified, awaited)


def _component(automaton: PatternAutomaton, conjunct: Conjunct, state: int) -> Iterator[Check]:
    group = automaton.elements[automaton.states[state].element].group
    if group is not None:
        moment = Moment(At.LEAVE, group)
        yield Check(conjunct.condition, moment, quantified=conjunct.quantified)
        return
    if conjunct.when is When.WHOLE:  # of a member of a set where that is left
        state = automaton.members(state)[0]
    own = conjunct.component if At.TAKE in MOMENTS[conjunct.when] else None
    for at in MOMENTS[conjunct.when]:
        yield Check(conjunct.condition, Moment(at, state), own, conjunct.quantified)


def _iteration(conjunct: IterationConjunct, group: int, state: PatternState) -> Iterator[Check]:
    """A condition that is decided at a state of an iteration."""
    own = state.slot if At.TAKE in MOMENTS[conjunct.when] else None
    quantified = conjunct.quantified
    if own is not None:
        quantified = tuple(q for q in quantified if (q.component, q.inner) != (group, own))
    for at in MOMENTS[conjunct.when]:
        yield Check(
            conjunct.condition,
            Moment(at, state.number),
            quantified=quantified,
            group=group,
            variable=own,
            iterations=conjunct.iterations,
            is_single=is_of_one_event(conjunct, state.slot),
        )

"""Estimate the share of events of several components that a condition lets pass.

It is evaluated on chains of sampled rows: in the order of time, each passing the conditions on its
own component, within a window and agreeing under the query's tests as far as the sample has such.
Where it names several events of one series there is one of each in a chain: the first, the event
before and the new one, the last.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import filterfalse, starmap

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import (
    Aggregate,
    Comparison,
    Condition,
    Conjunct,
    ConjunctClass,
    Expression,
    Part,
    Reference,
)
from sase.binding.parts import references, with_references
from sase.binding.text import condition_text
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.statistics.chains import Chains
from sase.engine.statistics.population import Population, Tests
from sase.lang.ast import TURNED
from sase.planning.rewrites.infer_equivalence_tests import implied_by
from sase.planning.selectivity import conjunction
from sase.planning.statistics import Selectivity

# How many chains are drawn, and from how many at least.
DRAWN, FEW = 4096, 200


def selectivities(
    population: Population, tests: Tests, rng: np.random.Generator
) -> list[Selectivity]:
    """Estimate the selectivity of each condition on several events, if there are such events.

    And of all those on positive components together, which need not be independent; of series also
    that of each condition on their first event.
    """
    names = {each.index: each.variable for each in population.components}
    several = [each for each in population.conjuncts if _is_of_single_events(each)]
    if population.plan.runs is None:
        positive = [each for each in several if each.kind is ConjunctClass.SEVERAL]
        several += conjunction([*filterfalse(implied_by(tests), positive)], names)
    # What is kept of rows is known when all conditions have asked for it.
    checked = [_ChainCondition(population, _of_each(conjunct.condition)) for conjunct in several]
    if checked:
        population.context.buffer.append_block(population.block)
    found = {each.condition: share for each, share in population.beginning()}
    for conjunct, condition in zip(several, checked, strict=True):
        chains = _chains(population, condition, tests)
        if chains is not None:
            found[conjunct.condition] = _share(population, condition, *chains, rng)
    texts = {condition_text(condition, names): share for condition, share in found.items()}
    return list(starmap(Selectivity, texts.items()))


def _is_of_single_events(conjunct: Conjunct) -> bool:
    """Whether a condition is on several events, all of which a chain has.

    What it says of all events of a series, or of all before, no chain of single events tells, but
    for a bound of all of them.
    """
    condition = _of_each(conjunct.condition)
    found = set(references(condition))
    are_single = all(isinstance(each, Reference) and each.part in _PARTS for each in found)
    return are_single and (condition != conjunct.condition or len(_roles(condition)) > 1)


def _of_each(condition: Condition) -> Condition:
    """Turn a bound of the greatest or least of all events so far into one of the new event.

    As the others have passed, they pass together where it does.
    """
    if isinstance(condition, Comparison):
        left, right, operator = condition.left, condition.right, condition.operator
        if (new := _bounded(left, operator, right)) is not None:
            return replace(condition, left=new)
        if (new := _bounded(right, TURNED.get(operator), left)) is not None:
            return replace(condition, right=new)
    return condition


_BOUNDS = {("max", "<"), ("max", "<="), ("min", ">"), ("min", ">=")}


def _bounded(extreme: Expression, operator: str | None, other: Expression) -> Reference | None:
    """Return the new event of a series whose extreme is bounded by something of single events."""
    if not isinstance(extreme, Aggregate) or (extreme.function, operator) not in _BOUNDS:
        return None
    is_of_single = all(isinstance(each, Reference) for each in references(other))
    if extreme.part is not Part.UP_TO_CURRENT or extreme.attribute is None or not is_of_single:
        return None
    return Reference(
        extreme.type, extreme.component, Part.CURRENT, extreme.attribute, extreme.undeclared_by
    )


# What there may be in a chain, in the order of time.
_PARTS = (Part.EVENT, Part.FIRST, Part.PREVIOUS, Part.CURRENT, Part.LAST)


def _roles(condition: Condition) -> list[tuple[int, Part]]:
    """The components of a condition with the parts of their series, as they stand in a chain."""
    found = {(each.component, each.part) for each in references(condition)}
    return sorted(found, key=lambda role: (role[0], _PARTS.index(role[1])))


def _share(
    population: Population,
    condition: _ChainCondition,
    chains: Chains,
    is_local: bool,
    rng: np.random.Generator,
) -> float:
    """Estimate the share of chains that pass, of local ones among those within the window."""
    rows = chains.draw(DRAWN, rng)
    weights = population.within_window(rows) if is_local else np.ones(DRAWN)
    passed = float(weights @ condition.passes(rows)) / max(float(weights.sum()), 1.0)
    # As if half a chain more passed, and half a one did not: never 0, never 1.
    count = min(float(np.count_nonzero(weights)), chains.total)
    return (passed * count + 0.5) / (count + 1)


def _chains(
    population: Population, condition: _ChainCondition, tests: Tests
) -> tuple[Chains, bool] | None:
    """Find chains as much like those in matches as there are enough of; and if they are local."""
    indexes = {component.index for component, _ in condition.roles}
    common = tuple(
        test
        for test in tests
        if test.value is None and all(test.attribute_of(index) is not None for index in indexes)
    )
    standing = [population.standing(*role) for role in condition.roles]
    best: tuple[Chains, bool] | None = None
    for keyed in dict.fromkeys([common, ()]):
        for is_local in [True, False] if population.has_slices else [False]:
            found = Chains(population.groups(keyed, is_local=is_local), standing)
            if found.total >= FEW:
                return found, is_local
            if best is None or found.total > best[0].total:
                best = found, is_local
    return best if best is not None and best[0].total else None


class _ChainCondition:
    """A condition on chains, evaluated by the engine's residual filter of sequences."""

    def __init__(self, population: Population, read: Condition) -> None:
        context, roles = population.context, _roles(read)
        self.roles = [(context.component(index), part) for index, part in roles]
        own = tuple(replace(each, index=at) for at, (each, _) in enumerate(self.roles))
        # As if each role were a component of its own, also that of a negative one.
        alone = replace(context, components=own, negatives=())

        def to_role(each: Reference) -> Reference:
            at = roles.index((each.component, each.part))
            return replace(each, component=at, part=Part.EVENT)

        condition = with_references(read, to_role)
        self._filter = ResidualFilter.of_sequences(alone, [], [condition])

    def passes(self, rows: Numbers) -> NDArray[np.bool_]:
        """Whether each column of rows, one for each role, passes."""
        return self._filter.select(rows)

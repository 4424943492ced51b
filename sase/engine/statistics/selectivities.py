"""Estimate the selectivity of conditions on several events.

A condition is evaluated on chains of sampled rows in time order. Each row passes the conditions on
its own component; chains are within a window and agree under the query's tests, if the sample has
such. A chain has one event for each part of a series that the condition names: first, previous,
new, last.
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
from sase.binding.conditions.parts import references, with_references
from sase.binding.values.text import condition_text
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.statistics.chains import Chains
from sase.engine.statistics.population import Population, Tests
from sase.lang.ast import TURNED
from sase.planning.cost.selectivity import conjunction
from sase.planning.rewrites.infer_equivalence_tests import implied_by
from sase.planning.statistics import Selectivity

# Chains drawn, and the fewest needed.
DRAWN, FEW = 4096, 200


def selectivities(
    population: Population, tests: Tests, rng: np.random.Generator
) -> list[Selectivity]:
    """Estimate the selectivity of each condition on several events, if there are such events.

    Also that of all conditions on positive components together, which may depend on each other, and
    for series that of each condition on the first event.
    """
    names = {each.index: each.variable for each in population.components}
    several = [each for each in population.conjuncts if _is_of_single_events(each)]
    if population.plan.runs is None:
        positive = [each for each in several if each.kind is ConjunctClass.SEVERAL]
        several += conjunction([*filterfalse(implied_by(tests), positive)], names)
    # The columns to keep are known once all conditions are compiled.
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
    """Whether a condition is on several events, each of which a chain has.

    Chains do not have all events of a series, but a bound on all of them can be reduced.
    """
    condition = _of_each(conjunct.condition)
    found = set(references(condition))
    are_single = all(isinstance(each, Reference) and each.part in _PARTS for each in found)
    return are_single and (condition != conjunct.condition or len(_roles(condition)) > 1)


def _of_each(condition: Condition) -> Condition:
    """Reduce a bound on the greatest or least of all events so far to one on the new event.

    The earlier events have passed, so all pass if the new one does.
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
    """Return the new event of a series if its extreme is compared with single events."""
    if not isinstance(extreme, Aggregate) or (extreme.function, operator) not in _BOUNDS:
        return None
    is_of_single = all(isinstance(each, Reference) for each in references(other))
    if extreme.part is not Part.UP_TO_CURRENT or extreme.attribute is None or not is_of_single:
        return None
    return Reference(
        extreme.type, extreme.component, Part.CURRENT, extreme.attribute, extreme.undeclared_by
    )


# The parts in a chain, in time order.
_PARTS = (Part.EVENT, Part.FIRST, Part.PREVIOUS, Part.CURRENT, Part.LAST)


def _roles(condition: Condition) -> list[tuple[int, Part]]:
    """The components of a condition with parts of their series, in chain order."""
    found = {(each.component, each.part) for each in references(condition)}
    return sorted(found, key=lambda role: (role[0], _PARTS.index(role[1])))


def _share(
    population: Population,
    condition: _ChainCondition,
    chains: Chains,
    is_local: bool,
    rng: np.random.Generator,
) -> float:
    """Estimate the share of chains that pass; for local ones among those within the window."""
    rows = chains.draw(DRAWN, rng)
    weights = population.within_window(rows) if is_local else np.ones(DRAWN)
    passed = float(weights @ condition.passes(rows)) / max(float(weights.sum()), 1.0)
    # Half a chain is added to both outcomes: never 0 or 1.
    count = min(float(np.count_nonzero(weights)), chains.total)
    return (passed * count + 0.5) / (count + 1)


def _chains(
    population: Population, condition: _ChainCondition, tests: Tests
) -> tuple[Chains, bool] | None:
    """Find the chains most similar to matches, if there are enough, and whether they are local."""
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
    """A condition on chains, evaluated by the engine's residual filter."""

    def __init__(self, population: Population, read: Condition) -> None:
        context, roles = population.context, _roles(read)
        self.roles = [(context.component(index), part) for index, part in roles]
        own = tuple(replace(each, index=at) for at, (each, _) in enumerate(self.roles))
        # Each role becomes a component of its own, even a negative one's.
        alone = replace(context, components=own, negatives=())

        def to_role(each: Reference) -> Reference:
            at = roles.index((each.component, each.part))
            return replace(each, component=at, part=Part.EVENT)

        condition = with_references(read, to_role)
        self._filter = ResidualFilter.of_sequences(alone, [], [condition])

    def passes(self, rows: Numbers) -> NDArray[np.bool_]:
        """Mark the columns of rows, one row for each role, that pass."""
        return self._filter.select(rows)

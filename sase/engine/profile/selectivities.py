"""The share of events of several components that a condition lets pass.

It is evaluated for chains of sampled rows: in the order of time, each passing the conditions on its
own component, within a window and agreeing under the query's tests as far as the sample has such.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import (
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    Part,
    Reference,
)
from sase.binding.conjuncts import references
from sase.binding.text import condition_text
from sase.engine.operators.checking import Checking
from sase.engine.profile.chains import Chains, Numbers
from sase.engine.profile.population import Population, Tests
from sase.planning.rewrites.infer_equivalence_tests import implied
from sase.planning.selectivity import together
from sase.planning.statistics import Selectivity

# How many chains are drawn, and from how many at least.
DRAWN, FEW = 4096, 200


def selectivities(
    population: Population, tests: Tests, rng: np.random.Generator
) -> list[Selectivity]:
    """The selectivity of each condition on several components of which there are events.

    And of all together that are on positive ones: they need not be independent.
    """
    names = {each.index: each.variable for each in population.components}
    several = [each for each in population.conjuncts if _is_of_one_each(each)]
    positive = [each for each in several if each.kind is ConjunctClass.SEVERAL]
    several += together([each for each in positive if not implied(each, tests)], names)
    # What is kept of rows is known when all conditions have asked for it.
    checked = [_Checked(population, conjunct) for conjunct in several]
    if checked:
        population.context.store.remember(population.block)
    found = {}
    for conjunct, condition in zip(several, checked, strict=True):
        chains = _chains(population, condition.components, tests)
        if chains is not None:
            text = condition_text(conjunct.condition, names)
            found[text] = Selectivity(text, _share(population, condition, *chains, rng))
    return list(found.values())


def _is_of_one_each(conjunct: Conjunct) -> bool:
    """Whether a condition is on several components, of each of which it reads one event at a time.

    What it says of the events of a series before, of its first or last one, or of all of them, no
    chain of single events tells.
    """
    return len(set(conjunct.references)) > 1 and all(
        isinstance(each, Reference) and each.part in (Part.EVENT, Part.CURRENT)
        for each in references(conjunct.condition)
    )


def _share(
    population: Population,
    condition: _Checked,
    chains: Chains,
    is_local: bool,
    rng: np.random.Generator,
) -> float:
    """The share of chains that pass, of local ones among those within the window."""
    rows = chains.drawn(DRAWN, rng)
    weights = population.within_window(rows) if is_local else np.ones(DRAWN)
    passed = float(weights @ condition.passes(rows)) / max(float(weights.sum()), 1.0)
    # As if half a chain more passed, and half a one did not: never 0, never 1.
    count = min(float(np.count_nonzero(weights)), chains.total)
    return (passed * count + 0.5) / (count + 1)


def _chains(
    population: Population, components: Sequence[BoundComponent], tests: Tests
) -> tuple[Chains, bool] | None:
    """Chains for components, as much like those in matches as there are enough of.

    Beside them stands whether they are local.
    """
    common = tuple(
        test
        for test in tests
        if test.value is None and all(test.attribute_of(c.index) is not None for c in components)
    )
    best: tuple[Chains, bool] | None = None
    for keyed in dict.fromkeys([common, ()]):
        for is_local in [True, False] if population.has_slices else [False]:
            found = population.chains(components, keyed, is_local=is_local)
            if found.total >= FEW:
                return found, is_local
            if best is None or found.total > best[0].total:
                best = found, is_local
    return best if best is not None and best[0].total else None


class _Checked:
    """A condition, as the engine evaluates it for sequences."""

    def __init__(self, population: Population, conjunct: Conjunct) -> None:
        context = population.context
        self.components = [c for c in population.components if c.index in conjunct.references]
        self._levels = [context.level_of(component.index) for component in self.components]
        # One level more, for a negative component.
        self._every = context.levels + 1
        by_level: list[list[Condition]] = [[] for _ in range(self._every)]
        by_level[0] = [conjunct.condition]
        self._checking = Checking(context, (), by_level, self._every)

    def passes(self, rows: Numbers) -> NDArray[np.bool_]:
        """Whether each column of rows, one for each component, passes."""
        sequences = np.zeros((self._every, rows.shape[1]), np.int64)
        sequences[self._levels] = rows
        return self._checking.selected(sequences)

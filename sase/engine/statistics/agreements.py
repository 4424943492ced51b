"""Estimate how likely events of some components are to agree under equivalence tests.

Counted are chains of sampled rows in the order of time (see `chains`), and those that agree among
them. A key that comes up a few times within an hour makes agreement within a window far more likely
than in general, so it is also counted within slices: that figure, of chains within a window, is
taken where slices differ from the rest by more than chance. Where a sample is too small to hold
`ENOUGH` chains that agree, for two components the chance that any two rows agree takes their place
(see `_chance`), and for more the product of what is known of the first two and of the others, times
how much likelier rows agree that agree with others (see `_clustering`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.statistics.chains import Chains
from sase.engine.statistics.distinct import agreeing, distinct, occurrences
from sase.engine.statistics.population import Population, Tests
from sase.planning.negatives import NegativeSequence
from sase.planning.statistics import Agreement

Components = tuple[BoundComponent, ...]
Shares = dict[tuple[Tests, Components], float]
# Chains that agree of which a share can be made, and in slices to show that it is another one.
ENOUGH, FEW = 20.0, 5.0
# Standard deviations that are hardly chance, and the factor from which on it makes a difference.
SURE, FACTOR = 2.0, 1.5
# How many chains are drawn to see which part of them is within a window.
DRAWN = 2048


def agreements(population: Population, tests: Tests, rng: np.random.Generator) -> list[Agreement]:
    """Estimate the agreement under each test without a value, and under all of them."""
    free = tuple(test for test in tests if test.value is None)
    found: Shares = {}
    for together in [(test,) for test in free] + ([free] if len(free) > 1 else []):
        for several in dict.fromkeys(_components(population)):
            found |= _shares(population, together, several, found, rng)
    return [
        Agreement(
            tuple(test.attribute for test in together),
            tuple(component.variable for component in several),
            share,
        )
        for (together, several), share in found.items()
    ]


def _components(population: Population) -> Iterator[Components]:
    """Yield the positive components, and each negative one with the nearest of them."""
    positives = population.plan.positives
    yield positives
    for negation in population.negations:
        if isinstance(negation, NegativeSequence):
            continue
        nearest, own = negation.around(positives), negation.component
        at = 0 if negation.after is None else nearest.index(positives[negation.after]) + 1
        yield (*nearest[:at], own, *nearest[at:])
        yield nearest
        if at:
            yield (nearest[at - 1], own)


def _shares(
    population: Population,
    tests: Tests,
    several: Components,
    known: Shares,
    rng: np.random.Generator,
) -> Shares:
    """Estimate the shares for the last two of some components, the last three and so on.

    Events whose type does not declare an attribute agree with all others: they are not counted, and
    of components that have only such ones the others decide.
    """
    several = tuple(c for c in several if all(t.attribute_of(c.index) is not None for t in tests))
    wanted = [several[level:] for level in range(len(several) - 1)]
    lacks = {component: population.lacks(component, tests) for component in several}
    if len(tests) > 1 and any(lack.any() for lack in lacks.values()):
        return dict(_products(tests, wanted, known))
    deciding = tuple(c for c in several if not len(lacks[c]) or not lacks[c].all())
    counted = _counted(population, deciding, tests, rng)
    found: Shares = {}
    for components in wanted:
        left = tuple(each for each in components if each in deciding)
        if len(left) < 2:
            found[tests, components] = 1.0
        elif left in counted:
            found[tests, components] = counted[left].local
    return found


def _products(
    tests: Tests, wanted: Sequence[Components], known: Shares
) -> Iterator[tuple[tuple[Tests, Components], float]]:
    """Multiply the shares under single tests, as if these were independent."""
    for components in wanted:
        singles = [known[key] for test in tests if (key := ((test,), components)) in known]
        if len(singles) == len(tests):
            yield (tests, components), math.prod(singles)


class _AgreementShare(NamedTuple):
    """A share of chains that agree, within a window and in general."""

    local: float
    general: float

    @property
    def ratio(self) -> float:
        """How much more likely it is within a window."""
        return self.local / self.general if self.general else 1.0


class _ChainCount:
    """Counts the chains from a level on: those that agree, and all of them."""

    def __init__(
        self,
        population: Population,
        agreeing: Chains,
        every: Chains,
        level: int,
        rng: np.random.Generator,
    ) -> None:
        self._population, self._level, self._rng = population, level, rng
        self._agreeing, self._every = agreeing, every
        self._hits, self._chains = (
            each.by_slice(level, population.slices) for each in (agreeing, every)
        )
        self._hit, self._all = float(self._hits.sum()), float(self._chains.sum())

    @property
    def share(self) -> float:
        """The share of those that agree; half a one more may do so, that it is never 0."""
        return (self._hit + 0.5) / (self._all + 1.0)

    def can_tell(self, expected: float, hits: float) -> bool:
        """Whether enough chains would agree as expected, or unexpectedly many do."""
        wanted = expected * self._all
        return wanted >= ENOUGH or self._hit >= max(hits, 2 * wanted)

    def is_other(self, usual: float) -> bool:
        """Whether slices, which are drawn independently, significantly differ from a share."""
        excess = self._hits - usual * self._chains
        deviation = math.sqrt(float((excess**2).sum()))
        is_chance = abs(float(excess.sum())) <= SURE * deviation
        is_near = usual / FACTOR < self.share < usual * FACTOR
        return self.can_tell(usual, FEW) and not is_chance and not is_near

    def within_window(self) -> float:
        """The share among the chains of slices that are within a window."""
        if not self._hit:
            return self.share
        hits, chains = (self._part_within(each) for each in (self._agreeing, self._every))
        return min(self.share * hits / chains, 1.0) if hits and chains else self.share

    def _part_within(self, chains: Chains) -> float:
        rows = chains.draw(DRAWN, self._rng, self._level)
        return float(self._population.within_window(rows).mean())


def _counted(
    population: Population, components: Components, tests: Tests, rng: np.random.Generator
) -> dict[Components, _AgreementShare]:
    """Estimate the shares for the components from each on, where there are events of all."""
    if len(components) < 2 or not all(map(population.occurs, components[-2:])):
        return {}
    general = _counts(population, components, tests, rng, is_local=False)
    local = None
    if population.has_slices:
        local = _counts(population, components, tests, rng, is_local=True)
    shares: dict[Components, _AgreementShare] = {}
    for level in range(len(components) - 2, -1, -1):
        if not population.occurs(components[level]):
            break
        wanted = components[level:]
        if len(wanted) == 2:
            pair = rest = _AgreementShare(1.0, 1.0)
            rough = _chance(population, wanted, tests)
        else:
            pair = _counted(population, wanted[:2], tests, rng)[wanted[:2]]
            rest = shares[wanted[1:]]
            rough = pair.general * rest.general * _clustering(population, wanted, tests)
        tells = population.sample.is_all or general[level].can_tell(rough, ENOUGH)
        usual = general[level].share if tells else rough
        if local is not None and local[level].is_other(usual):
            within = local[level].within_window()
        else:
            within = min(usual * pair.ratio * rest.ratio, 1.0)
        shares[wanted] = _AgreementShare(within, usual)
    return shares


def _counts(
    population: Population,
    components: Components,
    tests: Tests,
    rng: np.random.Generator,
    *,
    is_local: bool,
) -> list[_ChainCount]:
    """Count the chains from each component on."""
    agreeing = population.chains(components, tests, is_local=is_local)
    every = population.all_chains(components, tests, is_local=is_local)
    return [_ChainCount(population, agreeing, every, n, rng) for n in range(len(components))]


def _chance(population: Population, components: Components, tests: Tests) -> float:
    """Estimate how likely two rows are to agree that may stand for either of two components.

    Where too few do in the sample several tests are taken for independent of each other, and the
    values of one for equally frequent, of which the number is estimated.
    """
    counts = _frequencies(population, components, tests)
    if float((counts * (counts - 1)).sum()) / 2 >= ENOUGH:
        return agreeing(counts) or 0.0
    if len(tests) > 1:
        return math.prod(_chance(population, components, (test,)) for test in tests)
    return 1.0 / max(distinct(counts, population.sample.part), 1)


def _frequencies(population: Population, components: Components, tests: Tests) -> Numbers:
    """Count how often each value occurs among the rows that may stand for some component."""
    return occurrences(np.sort(population.pooled(components, tests)))


def _clustering(population: Population, components: Components, tests: Tests) -> float:
    """Estimate how much likelier all rows are to agree if two do, and all others do.

    Some values are more frequent than others, and those on which rows agree are of these rather.
    """
    counts = _frequencies(population, components, tests)
    first, others, every = (
        agreeing(counts, each) or 0.0 for each in (2, len(components) - 1, len(components))
    )
    found = max(every / (first * others), 1.0) if every else 1.0
    if len(tests) > 1:  # of all together too few may agree to tell
        single = (_clustering(population, components, (test,)) for test in tests)
        found = max(found, math.prod(single))
    return found

"""Estimate how likely events of several components agree under equivalence tests.

The estimate counts chains of sampled rows in time order (see `chains`), and those that agree. A key
that occurs a few times within an hour makes agreement in a window far more likely than in general.
So chains are also counted within slices; that figure, for chains within a window, is used if slices
differ from the rest by more than chance. If a sample has less than `ENOUGH` agreeing chains, two
components get the chance that any two rows agree (see `_chance`). More components get the product
of the shares of the first two and of the others, times how much more likely rows agree that agree
with others (see `_clustering`).
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
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.statistics import Agreement

Components = tuple[BoundComponent, ...]
Shares = dict[tuple[Tests, Components], float]
# Agreeing chains needed for an estimate, and in slices to show a difference.
ENOUGH, FEW = 20.0, 5.0
# Standard deviations beyond chance, and the factor that makes a difference.
SURE, FACTOR = 2.0, 1.5
# Chains drawn to estimate the part within a window.
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
    """Yield the positive components, and each negative one with its nearest ones."""
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
    """Estimate the shares for the last two of some components, the last three, and so on.

    Events of a type without the attribute agree with all others, so they are not counted; a
    component with only such events does not matter.
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
    """The share of agreeing chains, within a window and in general."""

    local: float
    general: float

    @property
    def ratio(self) -> float:
        """How much more likely agreement is within a window."""
        return self.local / self.general if self.general else 1.0


class _ChainCount:
    """Counts the chains from a level on: the agreeing ones, and all."""

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
        """The share of agreeing chains, with half a chain added so that it is not 0."""
        return (self._hit + 0.5) / (self._all + 1.0)

    def can_tell(self, expected: float, hits: float) -> bool:
        """Whether the share is reliable: many agreeing chains are expected, or many more found."""
        wanted = expected * self._all
        return wanted >= ENOUGH or self._hit >= max(hits, 2 * wanted)

    def is_other(self, usual: float) -> bool:
        """Whether slices, drawn independently, differ significantly from a share."""
        excess = self._hits - usual * self._chains
        deviation = math.sqrt(float((excess**2).sum()))
        is_chance = abs(float(excess.sum())) <= SURE * deviation
        is_near = usual / FACTOR < self.share < usual * FACTOR
        return self.can_tell(usual, FEW) and not is_chance and not is_near

    def within_window(self) -> float:
        """The share among the chains of slices that fit in a window."""
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
    """Estimate the shares for the components from each on, if all have events."""
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
    """Estimate how likely two rows that can be either of two components agree.

    If too few do in the sample, several tests count as independent, and the values of one as
    equally frequent, with their number estimated.
    """
    counts = _frequencies(population, components, tests)
    if float((counts * (counts - 1)).sum()) / 2 >= ENOUGH:
        return agreeing(counts) or 0.0
    if len(tests) > 1:
        return math.prod(_chance(population, components, (test,)) for test in tests)
    return 1.0 / max(distinct(counts, population.sample.part), 1)


def _frequencies(population: Population, components: Components, tests: Tests) -> Numbers:
    """Count the occurrences of each value among the rows that can be some component."""
    return occurrences(np.sort(population.pooled(components, tests)))


def _clustering(population: Population, components: Components, tests: Tests) -> float:
    """Estimate how much more likely all rows agree if two do, and all others do.

    Some values are more frequent than others; rows that agree are more likely to have one of these.
    """
    counts = _frequencies(population, components, tests)
    first, others, every = (
        agreeing(counts, each) or 0.0 for each in (2, len(components) - 1, len(components))
    )
    found = max(every / (first * others), 1.0) if every else 1.0
    if len(tests) > 1:  # too few may agree on all together
        single = (_clustering(population, components, (test,)) for test in tests)
        found = max(found, math.prod(single))
    return found

"""Negative components and sequences, as data on the operators that decide them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sase.binding.bound import (
    BoundComponent,
    Conjunct,
    ConjunctClass,
    EquivalenceTest,
    When,
)


@dataclass(frozen=True, slots=True)
class NegativeComponent:
    """A negative component between two levels: None before the first, None after the last.

    `equivalences` are the tests on which an event must agree with a sequence to forbid it.
    """

    component: BoundComponent
    after: int | None
    before: int | None
    conditions: tuple[Conjunct, ...] = ()
    equivalences: tuple[EquivalenceTest, ...] = ()

    @property
    def name(self) -> str:
        """Its name in counters."""
        return self.component.variable

    @property
    def components(self) -> tuple[BoundComponent, ...]:
        """The only component."""
        return (self.component,)

    @property
    def alone(self) -> tuple[Conjunct, ...]:
        """The conditions on a single event."""
        return tuple(c for c in self.conditions if set(c.references) <= {self.component.index})

    def around(self, positives: Sequence[BoundComponent]) -> tuple[BoundComponent, ...]:
        """The two nearest positive components, or the only one."""
        first = min(self.after or 0, max(len(positives) - 2, 0))
        return tuple(positives[first : first + 2])


class SequenceSearch(Enum):
    """How a match of a negative sequence is found: by a search in each gap, or by a tight index.

    For each event that ends such a match, the index has the latest start of any match ended by
    then.
    """

    IN_GAPS = "gap by gap"
    TIGHT = "tight index"


@dataclass(frozen=True, slots=True)
class NegativeSequence:
    """A negative sequence between two levels: None before the first, None after the last.

    `equivalences` are the tests on which its events must agree with a sequence to forbid it.
    """

    components: tuple[BoundComponent, ...]
    after: int | None
    before: int | None
    conditions: tuple[Conjunct, ...] = ()
    equivalences: tuple[EquivalenceTest, ...] = ()
    search: SequenceSearch = SequenceSearch.IN_GAPS

    @property
    def name(self) -> str:
        """Its name in counters."""
        return f"SEQ({', '.join('!' * c.negated + c.variable for c in self.components)})"

    @property
    def positives(self) -> tuple[BoundComponent, ...]:
        """The components of events that forbid together."""
        return tuple(each for each in self.components if not each.negated)

    @property
    def chain(self) -> tuple[list[BoundComponent], list[tuple[BoundComponent, int]]]:
        """The components of the fewest events of a match; each absence with the step before it."""
        steps: list[BoundComponent] = []
        absences: list[tuple[BoundComponent, int]] = []
        for each in self.components:
            if each.negated:
                absences.append((each, len(steps) - 1))
            else:
                steps += [each] * each.minimum
        return steps, absences

    @property
    def alone(self) -> tuple[Conjunct, ...]:
        """The conditions that every event of a component must satisfy by itself."""
        own = {component.index for component in self.components}
        return tuple(
            each
            for each in self.conditions
            if len(each.references) == 1
            and own.issuperset(each.references)
            and (
                each.kind is ConjunctClass.NEGATIVE
                or (each.kind is ConjunctClass.SINGLE and each.when is not When.FIRST)
            )
        )

    @property
    def together(self) -> tuple[Conjunct, ...]:
        """The other conditions, on several events."""
        alone = self.alone
        return tuple(each for each in self.conditions if each not in alone)


NegativeElement: TypeAlias = NegativeComponent | NegativeSequence

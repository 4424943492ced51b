"""Drives: one kernel that reads events and executes several operators of a plan at once.

A drive writes into the state of the operators, or reads a whole input. Events that do not meet its
needs pass through the operators block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Self

from sase.binding import OPEN
from sase.binding.bound import (
    BoundComponent,
    Condition,
    Operation,
)
from sase.binding.conditions.parts import references
from sase.cached_property import cached_property
from sase.planning.declined import Declined
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.declarations import TypeDeclarations
from sase.planning.physical.operators import (
    PhysicalOperator,
    Tests,
    operators_of,
)
from sase.planning.physical.run_algorithm import RunAlgorithm
from sase.planning.physical.vectorized import can_vectorize
from sase.planning.plan.nodes import Operator
from sase.planning.plan.traversal import within

NOT_FUSED = Declined("fused paths are switched off")
NARROWED = Declined("match windows narrow each block")
# Operations with results that may exceed int64.
_ARITHMETIC = ("+", "-", "*", "/", "%", "neg", "abs", "date_trunc")


class Feed(Enum):
    """How events reach a plan."""

    LOADED = "loaded events"
    PUSHED = "pushed batches"
    # The events of a script's input, which is loaded once for all statements that read it.
    SHARED = "shared reading"


class Need(Enum):
    """A condition on the events that a drive reads; the value is the text in EXPLAIN."""

    INTEGER_KEYS = "keys are whole numbers or texts of one dictionary, none NULL"
    CODES_FIT = "keys lie close together or come again often"
    FEW_KEYS = "there are at most 8,388,608 keys"
    MOST_OF_TYPES = "at least a third of the first events are of the query's types"
    NUMBERS = "the compared values are numbers of one kind, none NULL"
    FEW_EVENTS = "there are fewer than 2,147,483,648 events"
    SAME_SCHEMA = "batches are of Arrow, of one schema"
    SMALL_BATCH = "batches have at most 16,384 rows"
    IN_PLACE = "types come in one dictionary and keys as whole numbers"
    FOLLOWING = "times rise, nothing is NULL, and earlier batches had all keys"
    FEW_RARE = "one component has few of the events"

    @property
    def is_of_keys(self) -> bool:
        """Whether the need concerns keys only; a plan without a key does not have it."""
        return self in (Need.INTEGER_KEYS, Need.CODES_FIT, Need.FEW_KEYS)


@dataclass(frozen=True)
class DriveRequest:
    """A plan and its feed: whole or in pieces, timed or not, with or without a clock in kernels."""

    plan: EnginePlan
    in_pieces: bool = False
    is_timed: bool = False
    has_clock: bool = True

    @cached_property
    def operators(self) -> tuple[PhysicalOperator, ...]:
        """The operators from the bottom up."""
        return operators_of(self.plan).operators

    @property
    def runs(self) -> RunAlgorithm:
        """The algorithm of a plan of runs."""
        return next(each for each in self.operators if isinstance(each, RunAlgorithm))

    @cached_property
    def types(self) -> TypeDeclarations:
        """The attributes that types declare."""
        return TypeDeclarations(self.plan.schema, self.plan.components)

    def calculates(self, condition: Condition, component: BoundComponent) -> bool:
        """Whether a condition on one event has arithmetic that columns may not do exactly."""
        found = (each for each in within(condition) if isinstance(each, Operation))
        if not any(each.name in _ARITHMETIC for each in found):
            return False
        names = [each.attribute for each in references(condition) if each.attribute is not None]
        lacks = component.types is None and any(map(self.types.unknown_types_lack, names))
        return not can_vectorize(condition) or not names or lacks


def request_of(plan: Operator) -> DriveRequest:
    """A request for a plan alone, with a schema in which all types declare all attributes."""
    return DriveRequest(EnginePlan(plan, OPEN, aggregates={}))


@dataclass(frozen=True)
class Drive:
    """One kernel in place of several operators, for the events of one feed."""

    key: Tests
    # The number of keys from which a whole input waits in stacks of rows; None if it never does.
    by_rows: int | None = field(default=None, kw_only=True)

    name: ClassVar[str]
    feed: ClassVar[Feed] = Feed.LOADED
    summary: ClassVar[str]
    # All needs of this kind of drive, in the order in which they are checked.
    every_need: ClassVar[tuple[Need, ...]]

    @property
    def needs(self) -> tuple[Need, ...]:
        """The conditions on events; those on keys are left out if the plan has no key."""
        return tuple(each for each in self.every_need if self.key or not each.is_of_keys)

    @property
    def described(self) -> str:
        """The action of the drive, in the words of EXPLAIN."""
        if self.by_rows is None:
            return self.summary
        return f"{self.summary}; from {self.by_rows:,} keys on in stacks of rows"

    @classmethod
    def drives(cls, request: DriveRequest) -> bool:
        """Return whether this kind of drive applies to a plan."""
        return isinstance(cls.applies(request), cls)

    @classmethod
    def applies(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive of a plan, or the reason why the operators are executed one by one."""
        if request.plan.is_narrowed:
            return NARROWED
        return cls.of(request) if request.plan.options.fused else NOT_FUSED

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """The same for a plan for which drives are allowed."""
        raise NotImplementedError


def first_of(reasons: Mapping[str, object]) -> str | None:
    """The first reason for which the value is true."""
    return next((reason for reason, holds in reasons.items() if holds), None)

"""The plan of a script: frozen values, from which a `ScriptPipeline` is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sase.binding import Schema
from sase.binding.script.streams import NamedStream
from sase.cached_property import cached_property
from sase.engine.blocks.builder import loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Loader
from sase.engine.scripts.matching_forms import (
    ARITHMETIC,
    JointNames,
    JointStatements,
    MatchingForm,
)
from sase.planning.engine_plan import EnginePlan

# The first size of a stack, which can grow, and the sequences in a chunk of output.
STACK, CHUNK = 1 << 7, 1 << 13


@dataclass(frozen=True)
class InputPlan:
    """An input: its name, None if it has none, its columns, and the lateness of its rows."""

    name: str | None
    schema: Schema
    lateness: int | None = None
    on_bad_row: str = "error"
    # If conditions define the types of its events: the plan of all of them.
    typing: EnginePlan | None = None


@dataclass(frozen=True)
class CompositeType:
    """The type of the events that results are, and the name of their time."""

    name: str
    time: str


@dataclass(frozen=True)
class StatementPlan:
    """A statement: the plan over its sources, and the type of its results for their readers."""

    name: str
    plan: EnginePlan
    streams: tuple[NamedStream, ...]
    composite: CompositeType | None = None
    # The plan of all events, for a statement over several streams with types by conditions.
    typing: tuple[tuple[str | None, EnginePlan], ...] = ()

    @cached_property
    def sources(self) -> tuple[str | None, ...]:
        """The names of its sources."""
        return tuple(each.name for each in self.streams)


def one_of_many(plan: EnginePlan) -> EnginePlan:
    """The plan of one of perhaps a thousand statements: each begins with little memory."""
    return replace(plan, options=replace(plan.options, stack=STACK, chunk=CHUNK))


@dataclass(frozen=True)
class ScriptPlan:
    """Inputs and statements; a statement comes after those that it reads."""

    inputs: tuple[InputPlan, ...]
    statements: tuple[StatementPlan, ...]

    @cached_property
    def joint(self) -> tuple[JointNames, ...]:
        """The statements that one matching serves, if all begin together; computed once."""
        return joint_names(self.inputs, self.statements)


def joint_names(
    inputs: Iterable[InputPlan], statements: Sequence[StatementPlan]
) -> tuple[JointNames, ...]:
    """The names of the statements that one matching serves, of those over one input alone."""
    found = list[JointNames]()
    for given in inputs:
        read = {each.name: each.plan for each in statements if each.sources == (given.name,)}
        found += map(JointNames, JointStatements.of(read).joint)
    return tuple(found)


@dataclass(frozen=True)
class Additions:
    """How added statements are matched: with each other, or with some that run.

    `joined` has for each name the statement that it joins. `apart` has for each name the similar
    statements that it cannot join, and the reason.
    """

    joint: tuple[JointNames, ...]
    joined: Mapping[str, str]
    apart: Mapping[str, str]

    @classmethod
    def of(
        cls,
        inputs: Iterable[InputPlan],
        running: Iterable[StatementPlan],
        added: Iterable[StatementPlan],
    ) -> Additions:
        """Plan the statements that are added to some that run."""
        joint, joined, apart = list[JointNames](), dict[str, str](), dict[str, str]()
        known = {each.name: each for each in running}
        every = {**known, **{each.name: each for each in added}}
        for given in inputs:
            read = {n: each.plan for n, each in every.items() if each.sources == (given.name,)}
            if read.keys() <= known.keys():
                continue
            for names in JointStatements.of(read).joint:
                before = [name for name in names if name in known]
                new = tuple(name for name in names if name not in known)
                may_join = before and not MatchingForm(read[before[0]]).may_overflow
                if may_join:
                    joined |= dict.fromkeys(new, before[0])
                elif len(new) > 1:
                    joint.append(JointNames(new))
                if before and not may_join:
                    apart |= dict.fromkeys(new, f"{', '.join(before)}, though alike: {ARITHMETIC}")
        return cls(tuple(joint), joined, apart)


def loader_of_types(schema: Schema, typing: EnginePlan | None, on_bad_row: str = "error") -> Loader:
    """Load the order and the types of events: by a column, by their tables, or by conditions."""
    if typing is None:
        return Loader(schema, schema.roles, on_bad_row=on_bad_row)
    coding = PlanDictionary(TypeDictionary(schema, typing.positives), streaming=True)
    return loader_of(typing, coding, on_bad_row, schema.roles)

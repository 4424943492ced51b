"""The plan as the engine takes it: frozen values, from which matchers are opened."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from sase.base.paths import columns_of
from sase.base.texts import did_you_mean
from sase.binding import Schema
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    BoundWindow,
    Condition,
    EquivalenceTest,
    Operation,
    WindowKind,
)
from sase.binding.input_options import Reading
from sase.binding.lateness import refuse_plain_number
from sase.binding.types import UNKNOWN, DataType
from sase.binding.values.aggregates import UserAggregate, names
from sase.binding.values.aggregates import find as user_aggregate
from sase.binding.values.functions import AGGREGATES
from sase.binding.values.text import value_text, window_text
from sase.cached_property import cached_property
from sase.errors import PlanError, SchemaError
from sase.lang.ast import StrategyName
from sase.planning.branches import (
    KEEPS_EVERY_KEY,
    CopyWait,
    PlacedOperator,
    placed_operators,
    wait_for_copies,
)
from sase.planning.cost_values import BLOCK
from sase.planning.plan.match_windows import MatchWindow
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    RunEvaluation,
    SequenceScan,
    Transformation,
    Union,
    branches_of,
    exchanged,
    find,
    reading,
    require,
    variables_of,
)
from sase.planning.plan.traversal import attributes_read, columns_named, within
from sase.planning.reasoning.late_types import Known, LateTypes
from sase.planning.serialisation import encoded, fingerprint, plan_to_json
from sase.planning.split import Split, may_end, negations_of, split_of

# ---------------------------------------------------------------- options


@dataclass(frozen=True, slots=True)
class Options:
    """Sizes of blocks, output chunks and initial stacks, and options of reading and execution.

    From `many_keys` keys on, a whole input has stacks of rows, since the state of that many keys
    does not fit in the cache.

    A block and the state that it needs should fit in the cache; smaller or larger blocks are
    slower. Results depend only on `reading`, the options of reading files of text. If not `fused`,
    every event passes the operators one by one: see `pipeline/fused`. If not in `lines`, runs that
    never fork also share their beginnings with others. With `analyze` operators count more. Plans
    that differ only in it are equal, and checkpoints do not include its counters.
    """

    block: int = BLOCK
    chunk: int = 1 << 16
    stack: int = 1 << 10
    fused: bool = True
    lines: bool = True
    many_keys: int = 1 << 13
    reading: Reading = Reading()
    analyze: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if min(self.block, self.chunk, self.stack) < 1:
            raise ValueError("a block, a chunk and a stack hold at least one")
        if self.stack & (self.stack - 1):
            raise ValueError("the places of a stack are a power of two")


# ---------------------------------------------------------------- user aggregates


def user_aggregates(*parts: object) -> Mapping[str, UserAggregate]:
    """The aggregates that a plan names; a `PlanError` if one is missing here or differs.

    A plan stores only their names and kinds, so it may be opened in a process that lacks them.
    """
    found: dict[str, UserAggregate] = {}
    for each in within(parts):
        if not isinstance(each, Aggregate) or each.place or each.function in AGGREGATES:
            continue
        user = user_aggregate(each.function)
        if user is None:
            hint = (*did_you_mean(each.function, names()), "")[0]
            raise PlanError(
                f"this plan has the aggregate `{each.function}`, which was not added here: do so"
                f" by  sase.aggregate({each.function!r}, …)  before it is opened"
                + (f"; {hint}" if hint else "")
            )
        if (len(each.attributes), each.type, each.trend) != (len(user.over), user.type, user.trend):
            raise PlanError(
                f"the aggregate `{each.function}` is not the one with which this plan was made:"
                " it has other attributes, another kind of value or another trend"
            )
        found[each.function] = user
    return found


# ---------------------------------------------------------------- plan


class Reads(Protocol):
    """The columns read of an input, for one plan or for several, and the policy for bad rows."""

    @property
    def schema(self) -> Schema:
        """The schema with the columns that have roles."""

    @property
    def named(self) -> frozenset[str]:
        """Every column in which a bad value makes the row bad."""

    @property
    def on_bad_row(self) -> str:
        """The policy for bad rows."""

    @property
    def types_wanted(self) -> frozenset[str] | None:
        """The types of events that count; None if every event does."""


@dataclass(frozen=True)
class EnginePlan:
    """Operators, the schema they were made for, the conditions that define types, and sizes.

    `on_bad_row` is "error" or "quarantine"; `lateness` is how late rows of a stream may be, in raw
    units of time. `warnings` are those of the query: every report has them. `aggregates` are the
    user-defined ones in their present form: a plan that is sent to another process includes them.
    """

    operators: Operator
    schema: Schema
    definitions: tuple[tuple[str, Condition], ...] = ()
    options: Options = Options()
    on_bad_row: str = "error"
    lateness: int | None = None
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)
    aggregates: Mapping[str, UserAggregate] | None = field(default=None, compare=False, repr=False)
    # Attributes that are read to distinguish matches of the plan.
    also_read: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aggregates is None:
            object.__setattr__(self, "aggregates", user_aggregates(self.operators))

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """Values that operators compute when the plan is first opened, for later openings."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: the cache may hold addresses."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the parts that determine the layout of saved state, with fused paths."""
        text = plan_to_json(
            self.operators,
            self.schema,
            lateness=self.lateness,
            on_bad_row=self.on_bad_row,
            definitions=encoded(self.definitions),
            options=encoded(replace(self.options, fused=True)),
            **self._shapes,
        )
        return fingerprint(text)

    @property
    def _shapes(self) -> dict[str, Any]:
        """The parts of user-defined aggregates on which saved state depends, if there are any."""
        shapes = [user.shape for _, user in sorted((self.aggregates or {}).items())]
        return {"aggregates": shapes} if shapes else {}

    def text_of(self, operation: Operation | Aggregate) -> str:
        """The text of a part of the query."""
        having = (each for each in self.branches if operation in within(each.operators))
        plan = next(having, self)
        return value_text(operation, variables_of(plan.operators))

    @cached_property
    def branches(self) -> tuple[EnginePlan, ...]:
        """The plans of the branches of a pattern with choices; none if it has none."""
        if self.union is None:
            return ()
        return tuple(replace(self, operators=branch) for branch in self.union.branches)

    @cached_property
    def placed(self) -> list[PlacedOperator]:
        """Its operators in the order in which they count."""
        return placed_operators(self.operators)

    @cached_property
    def union(self) -> Union | None:
        """The operator that merges the branches of a pattern with choices."""
        return find(self.operators, Union)

    @cached_property
    def scan(self) -> SequenceScan | RunEvaluation | Union:
        """The operator that reads events: the scan, evaluation of runs, or union of branches."""
        return reading(self.operators)

    @cached_property
    def match_window(self) -> MatchWindow | None:
        """The operator that restricts events to windows that may hold a match; not of branches."""
        return find(self.operators, MatchWindow)

    @cached_property
    def is_narrowed(self) -> bool:
        """Whether match windows restrict its events, or those of a branch."""
        return any(find(each, MatchWindow) for each in branches_of(self.operators))

    @cached_property
    def runs(self) -> RunEvaluation | None:
        """The evaluation of runs, for a plan of level 2."""
        return find(self.operators, RunEvaluation)

    @property
    def has_series(self) -> bool:
        """Whether matches may have any number of events."""
        return self.runs is not None or self.union is not None

    @property
    def compresses(self) -> bool:
        """Whether all matches of skip till any match are results, which may be too many to list."""
        if self.union is not None:
            return False
        is_any = self.runs is None or self.runs.strategy is StrategyName.SKIP_TILL_ANY_MATCH
        return is_any and self.returned.non_overlapping is None

    @cached_property
    def positives(self) -> tuple[BoundComponent, ...]:
        """The positive components by level."""
        return self.scan.components

    @cached_property
    def components(self) -> tuple[BoundComponent, ...]:
        """The components of every branch; a variable may have fewer types there."""
        own = self.branches or (self,)
        return (*(component for each in own for component in each.positives), *self.negatives)

    @cached_property
    def negatives(self) -> tuple[BoundComponent, ...]:
        """All negative components, including those of negative sequences, in index order."""
        if self.branches:
            every = (component for branch in self.branches for component in branch.negatives)
            return tuple(dict.fromkeys(every))
        found = [each for n in negations_of(self.operators) for each in n.components]
        return tuple(sorted(dict.fromkeys(found), key=lambda component: component.index))

    @cached_property
    def named(self) -> frozenset[str]:
        """Every column that the plan reads."""
        also = columns_of(self.also_read, self.schema.names)
        return also | columns_named(self.schema, self.operators, self.definitions)

    @cached_property
    def reading(self) -> dict[str, Any]:
        """The options of `open_files`."""
        return {"reading": self.options.reading, "known": self.schema.texts}

    @cached_property
    def lacks_unit(self) -> bool:
        """Whether a window needs the unit of time, and the schema does not state it."""
        return any(window.size is None for window in self.windows)

    def check_known(self, *, has_tables: bool, has_times: bool) -> None:
        """Refuse events if the plan was compiled without their unit of time or their types."""
        if self.lacks_unit and has_times:
            lacking, why = "the unit of time", "its window has a unit"
        elif self.schema.type_names is None and has_tables:
            lacking, why = "the types", "here each type has a table"
        else:
            return
        raise SchemaError(
            f"the query was compiled without knowing {lacking}, and {why}: compile it for these"
            " events"
        )

    @cached_property
    def unsaid(self) -> LateTypes:
        """The types of values that the query leaves open until events are read."""
        parts = tuple(branch.unsaid for branch in self.branches)
        own = self.operators
        if self.union is not None:
            own = exchanged(own, replace(self.union, branches=()))
        return LateTypes(own, self.definitions, self.aggregates or {}, parts)

    def check_types(self, known: Known, time: DataType) -> None:
        """Refuse events with columns that the query cannot compare or compute with.

        `time` is the type of the times in the input, which may be floats.
        """
        if self.schema.time_type == UNKNOWN:
            self._check_plain_numbers(time)
        if self.unsaid.is_any:
            why = self.unsaid.disagreement(known)
            if why is not None:
                for_others = "the query was compiled without knowing the types of columns, and "
                if " was compiled for " in why:
                    for_others = ""
                raise SchemaError(f"{for_others}in these events {why}: compile it for them")

    def _check_plain_numbers(self, time: DataType) -> None:
        """Refuse amounts of time without a unit, if the times turn out not to be integers."""
        column, unit = self.schema.time, time.usual_unit
        if unit is None:
            return
        if self.lateness:
            refuse_plain_number(self.lateness, column, time)
        for window in self.windows:
            if window.kind is WindowKind.TIME and window.unit is None:
                raise SchemaError(
                    f"a window without a unit counts integer times, and `{column}` is"
                    f" {time.described()} in these events: write  WITHIN"
                    f" {window_text(window, unit=unit)}  and compile the query for them"
                )

    @cached_property
    def split(self) -> Split:
        """How the plan may be cut into parts."""
        return split_of(self.operators)

    @cached_property
    def windows(self) -> tuple[BoundWindow, ...]:
        """Every window, in all operators."""
        return tuple(each for each in within(self.operators) if isinstance(each, BoundWindow))

    @property
    def counts_events(self) -> bool:
        """Whether the order of events matters: they are counted, or may not all be taken."""
        return (
            self.counts_all
            or any(branch.counts_events for branch in self.branches)
            or (
                self.runs is not None and self.runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH
            )
        )

    @property
    def ordering(self) -> str:
        """Why results depend on the order of simultaneous events; empty if they do not."""
        if any(window.kind is not WindowKind.TIME for window in self.windows):
            return "a window in EVENTS counts them one by one"
        if self.runs is not None and self.counts_events:
            return f"the events that {self.runs.strategy.value} takes depend on their order"
        if of_branch := next((each.ordering for each in self.branches if each.ordering), ""):
            return of_branch
        if self.returned.non_overlapping is not None:
            return "non_overlap takes the first of matches in the order of events"
        if self.returned.limit:
            return "LIMIT takes the first results in the order of events"
        return ""

    @property
    def counts_all(self) -> bool:
        """Whether a window or contiguity counts events."""
        contiguous = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)
        if self.runs is not None and self.runs.strategy in contiguous:
            return True
        if any(branch.counts_all for branch in self.branches):
            return True
        return any(window.kind is not WindowKind.TIME for window in self.windows)

    @cached_property
    def types_wanted(self) -> frozenset[str] | None:
        """The types of events that count; None if every event does, if only by position."""
        components = (*self.positives, *self.negatives)
        if self.counts_all or any(each.types is None for each in components):
            return None
        return frozenset(name for each in components for name in each.types or ())

    @cached_property
    def ranked(self) -> tuple[EquivalenceTest, ...]:
        """The tests with partitions in which a window or contiguity counts; none if none does."""
        counts = any(window.kind is WindowKind.PARTITION_EVENTS for window in self.windows)
        counts = counts or (self.runs is not None and self.runs.is_ranked)
        counts = counts or any(branch.ranked for branch in self.branches)
        return self.scan.tests if counts else ()

    @property
    def types_needed(self) -> frozenset[str] | None:
        """The types of events that operators must see; None if they must see every event."""
        return None if self.watches_all or self.ranked else self.types_wanted

    @property
    def watches_all(self) -> bool:
        """Whether operators must see every event, also of types that no component admits."""
        if self.branches:
            return any(branch.watches_all for branch in self.branches)
        return self.runs is not None and (self.runs.is_watched or self.runs.ends_by_event)

    @cached_property
    def postponed(self) -> BoundWindow | None:
        """The window after which a match with a negated end is detected."""
        negation = find(self.operators, Negation)
        if negation is None or not self.ends:
            return None
        return negation.window

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The levels after which a negative component is an end if no later event is bound."""
        ends = (n for n in negations_of(self.operators) if may_end(self.positives, n))
        return tuple(-1 if each.after is None else each.after for each in ends)

    @cached_property
    def unbounded(self) -> str | None:
        """The reason why memory is not bounded by a window, apart from runs; None if it is."""
        copies = None if self.union is None else wait_for_copies(self.union)
        waits = copies.value if copies is CopyWait.END else None
        counts = any(window.kind is WindowKind.PARTITION_EVENTS for window in self.windows)
        return waits or (KEEPS_EVERY_KEY if counts else None)

    @cached_property
    def returned(self) -> Transformation:
        """The operator that makes results."""
        return require(self.operators, Transformation)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that the plan reads."""
        return tuple(
            dict.fromkeys((*attributes_read(self.operators, self.definitions), *self.also_read))
        )

"""What the engine needs of a plan: frozen values, from which matchers are opened."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from sase.binding import Schema
from sase.binding.aggregates import UserAggregate
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    BoundWindow,
    Condition,
    EquivalenceTest,
    Operation,
    WindowKind,
)
from sase.binding.lateness import refuse_plain_number
from sase.binding.text import value_text, window_text
from sase.binding.types import UNKNOWN, DataType
from sase.cached_property import cached_property
from sase.errors import SchemaError
from sase.lang.ast import StrategyName
from sase.planning.detection import KEEPS_EVERY_KEY, CopyWait, wait_for_copies
from sase.planning.late_types import Known, LateTypes
from sase.planning.match_windows import MatchWindow
from sase.planning.nodes import (
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
from sase.planning.options import Options
from sase.planning.serialisation import encoded, fingerprint, plan_to_json
from sase.planning.split import Split, may_end, negations_of, split_of
from sase.planning.traversal import attributes_read, within
from sase.planning.user_aggregates import user_aggregates


class Reads(Protocol):
    """What is read of an input, for one plan or for several: the columns, and what bad rows do."""

    @property
    def schema(self) -> Schema:
        """The columns with a role."""

    @property
    def named(self) -> frozenset[str]:
        """Every column by which a row may be bad."""

    @property
    def on_bad_row(self) -> str:
        """The policy for bad rows."""

    @property
    def types_wanted(self) -> frozenset[str] | None:
        """The types whose events count; None if every event does."""


@dataclass(frozen=True)
class EnginePlan:
    """Operators, the schema they were made for, the conditions that define types, and sizes.

    `on_bad_row` is "error" or "quarantine"; `lateness` is how long rows of a stream may be late, in
    raw units of time. `warnings` are of the query: every report has them. `aggregates` are those
    that users added, as they are now: a plan that is sent somewhere takes them along.
    """

    operators: Operator
    schema: Schema
    definitions: tuple[tuple[str, Condition], ...] = ()
    options: Options = Options()
    on_bad_row: str = "error"
    lateness: int | None = None
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)
    aggregates: Mapping[str, UserAggregate] | None = field(default=None, compare=False, repr=False)
    # What those read of its events who tell its matches apart.
    also_read: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aggregates is None:
            object.__setattr__(self, "aggregates", user_aggregates(self.operators))

    @cached_property
    def cache(self) -> dict[Hashable, Any]:
        """What operators made of it when it was first opened, and need not make again."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """The value alone: what was made of it may hold addresses."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def fingerprint(self) -> str:
        """What tells plans apart whose state is not the same, which fused paths write, too."""
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
        """What the states are that operators keep of aggregates of users, if there are any."""
        shapes = [user.shape for _, user in sorted((self.aggregates or {}).items())]
        return {"aggregates": shapes} if shapes else {}

    def text_of(self, operation: Operation | Aggregate) -> str:
        """A part of the query as text."""
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
    def union(self) -> Union | None:
        """What merges the branches of a pattern with choices."""
        return find(self.operators, Union)

    @cached_property
    def scan(self) -> SequenceScan | RunEvaluation | Union:
        """What takes in events: the scan, the evaluation of runs, or the union of branches."""
        return reading(self.operators)

    @cached_property
    def match_window(self) -> MatchWindow | None:
        """What narrows the events of a plan that is no union to windows that may hold a match."""
        return find(self.operators, MatchWindow)

    @cached_property
    def is_narrowed(self) -> bool:
        """Whether match windows narrow its events, or those of a branch."""
        return any(find(each, MatchWindow) for each in branches_of(self.operators))

    @cached_property
    def runs(self) -> RunEvaluation | None:
        """The evaluation of runs of a plan of level 2."""
        return find(self.operators, RunEvaluation)

    @property
    def has_series(self) -> bool:
        """Whether matches are of any number of events."""
        return self.runs is not None or self.union is not None

    @property
    def compresses(self) -> bool:
        """Whether all matches of skip till any match are wanted, which can be too many to list."""
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
        """Those of every branch, which may name types of a variable that is of any in the whole."""
        own = self.branches or (self,)
        return (*(component for each in own for component in each.positives), *self.negatives)

    @cached_property
    def negatives(self) -> tuple[BoundComponent, ...]:
        """The negative components, those of negative sequences included, wherever decided."""
        if self.branches:
            every = (component for branch in self.branches for component in branch.negatives)
            return tuple(dict.fromkeys(every))
        found = [each for n in negations_of(self.operators) for each in n.components]
        return tuple(sorted(dict.fromkeys(found), key=lambda component: component.index))

    @cached_property
    def named(self) -> frozenset[str]:
        """Every column that the plan reads."""
        return frozenset((*self.schema.roles, *self.attributes))

    @cached_property
    def reading(self) -> dict[str, Any]:
        """How files of CSV are read, as `open_files` takes it."""
        options = self.options
        return {"null": options.null, "text": options.text, "known": self.schema.texts}

    @cached_property
    def lacks_unit(self) -> bool:
        """Whether the schema did not say what time counts, which a window must know."""
        return any(window.size is None for window in self.windows)

    def check_known(self, *, has_tables: bool, has_times: bool) -> None:
        """Refuse events without which it was compiled: there may be tables of types, and times."""
        if self.lacks_unit and has_times:
            lacking, why = "what time counts", "its window has a unit"
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
        """What the query leaves to the events to say."""
        parts = tuple(branch.unsaid for branch in self.branches)
        own = self.operators
        if self.union is not None:
            own = exchanged(own, replace(self.union, branches=()))
        return LateTypes(own, self.definitions, self.aggregates or {}, parts)

    def check_types(self, known: Known, time: DataType) -> None:
        """Refuse events whose columns hold what the query does not compare with, or cannot.

        `time` is the type of the times as they are given, which may be floats.
        """
        if self.schema.time_type == UNKNOWN:
            self._check_plain_numbers(time)
        if self.unsaid.is_any:
            why = self.unsaid.disagreement(known)
            if why is not None:
                raise SchemaError(
                    "the query was compiled without knowing what columns hold, and in these events"
                    f" {why}: compile it for them"
                )

    def _check_plain_numbers(self, time: DataType) -> None:
        """Refuse amounts of time without a unit, if the times turn out to be no integers."""
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
        """How it may be cut."""
        return split_of(self.operators)

    @cached_property
    def windows(self) -> tuple[BoundWindow, ...]:
        """Every window, wherever it was pushed."""
        return tuple(each for each in within(self.operators) if isinstance(each, BoundWindow))

    @property
    def counts_events(self) -> bool:
        """Whether events are counted, or some that could be taken are not: their order matters."""
        return (
            self.counts_all
            or any(branch.counts_events for branch in self.branches)
            or (
                self.runs is not None and self.runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH
            )
        )

    @property
    def ordering(self) -> str:
        """Why what is found depends on the order of simultaneous events; empty if it does not."""
        if any(window.kind is not WindowKind.TIME for window in self.windows):
            return "a window in EVENTS counts them one by one"
        if self.runs is not None and self.counts_events:
            return f"what {self.runs.strategy.value} takes goes by the order of events"
        if of_branch := next((each.ordering for each in self.branches if each.ordering), ""):
            return of_branch
        if self.returned.non_overlapping is not None:
            return "non_overlap takes the first of matches in the order of events"
        if self.returned.limit:
            return "LIMIT takes the first results in the order of events"
        return ""

    @property
    def counts_all(self) -> bool:
        """Whether a window counts events, or contiguity does."""
        contiguous = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)
        if self.runs is not None and self.runs.strategy in contiguous:
            return True
        if any(branch.counts_all for branch in self.branches):
            return True
        return any(window.kind is not WindowKind.TIME for window in self.windows)

    @cached_property
    def types_wanted(self) -> frozenset[str] | None:
        """The types whose events count; None if every event does, if only by its position."""
        components = (*self.positives, *self.negatives)
        if self.counts_all or any(each.types is None for each in components):
            return None
        return frozenset(name for each in components for name in each.types or ())

    @cached_property
    def ranked(self) -> tuple[EquivalenceTest, ...]:
        """The tests within whose partitions a window or contiguity counts; none if none does."""
        counts = any(window.kind is WindowKind.PARTITION_EVENTS for window in self.windows)
        counts = counts or (self.runs is not None and self.runs.is_ranked)
        counts = counts or any(branch.ranked for branch in self.branches)
        return self.scan.tests if counts else ()

    @property
    def watches_all(self) -> bool:
        """Whether operators must see every event, also of types that no component admits."""
        if self.branches:
            return any(branch.watches_all for branch in self.branches)
        return self.runs is not None and (self.runs.is_watched or self.runs.ends_by_event)

    @cached_property
    def postponed(self) -> BoundWindow | None:
        """The window of a negated end, after which a match is detected."""
        negation = find(self.operators, Negation)
        if negation is None or not self.ends:
            return None
        return negation.window

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The levels behind which a negative component is an end if no event is bound there."""
        ends = (n for n in negations_of(self.operators) if may_end(self.positives, n))
        return tuple(-1 if each.after is None else each.after for each in ends)

    @cached_property
    def unbounded(self) -> str | None:
        """What takes memory that no window bounds, beside runs, if anything does."""
        copies = None if self.union is None else wait_for_copies(self.union)
        waits = copies.value if copies is CopyWait.END else None
        counts = any(window.kind is WindowKind.PARTITION_EVENTS for window in self.windows)
        return waits or (KEEPS_EVERY_KEY if counts else None)

    @cached_property
    def returned(self) -> Transformation:
        """What results are made of."""
        return require(self.operators, Transformation)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that the plan reads."""
        return tuple(
            dict.fromkeys((*attributes_read(self.operators, self.definitions), *self.also_read))
        )

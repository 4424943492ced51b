"""Which statements have the same matches but for window and last type, so that one matching serves.

    SEQ(A a, B b) WHERE [k] WITHIN 60 RETURN a.id AS id    │ are those of one matching of
    SEQ(A a, B b) WHERE [k] WITHIN 600 RETURN a.id AS x    │ SEQ(A a, ANY(B, C) b) WITHIN 600,
    SEQ(A a, C b) WHERE [k] WITHIN 60 RETURN a.id AS id    │ by last type and how long they last
    SEQ(A a, B b) WHERE [k] AND b.n = 3 WITHIN 60 …        │ and by what is asked of the last event

All matches of single events are wanted (skip till any match): whether some events are one depends
on them alone, so those of a shorter window are those of a longer one that last no longer, in the
same order. What must not occur between two of them does not depend on the window either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Column,
    Conjunct,
    Expression,
    Operation,
    Placeholder,
    Reference,
    WindowKind,
)
from sase.binding.parts import references
from sase.binding.types import Kind
from sase.cached_property import cached_property
from sase.engine.operators.contract import span_of
from sase.engine.scripts.asking import asked_wholly
from sase.planning.nodes import (
    Operator,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Union,
    chain,
    exchanged,
    find,
    rebuilt,
    require,
)
from sase.planning.plan import EnginePlan
from sase.planning.split import negations_of
from sase.planning.traversal import within

ARITHMETIC = (
    "arithmetic that leaves int64 is warned of by each of its own matches, and these differ"
)


@dataclass(frozen=True, eq=False)
class MatchingForm:
    """A plan, and what others must have in common with it to be matched by the same matching."""

    plan: EnginePlan

    @cached_property
    def window(self) -> BoundWindow | None:
        """The window of its matches."""
        return next(iter(self.plan.windows), None)

    @cached_property
    def span(self) -> int | None:
        """How long its matches last at most, in raw units of time or events; None for any time."""
        return None if self.window is None else span_of(self.window)

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """What it returns."""
        return self.plan.returned.columns

    @cached_property
    def evaluated(self) -> tuple[Expression, ...]:
        """The values of RETURN that depend on the match, each once, in an order of their own."""
        values = {each.value for each in self.columns or () if not is_constant(each.value)}
        return tuple(sorted(values, key=repr))

    @property
    def hint(self) -> object:
        """What is cheap to compare, and the same where the key is."""
        plan = self.plan
        every = (*plan.positives[: -1 if self.may_differ_at_last else None], *plan.negatives)
        return tuple(each.types for each in every), len(chain(plan.operators))

    @property
    def last(self) -> BoundComponent:
        """The component of the last event."""
        return self.plan.positives[-1]

    @cached_property
    def may_differ_at_last(self) -> bool:
        """Whether the last event tells whose match it is, by its type: what is before is shared."""
        scan, last = find(self.plan.operators, SequenceScan), self.last
        return scan is not None and len(scan.components) > 1 and last.types is not None

    @cached_property
    def asked_last(self) -> tuple[Conjunct, ...]:
        """What is asked of the last event by itself, as far as the index deals it out by that.

        It tells whose match one is, as the type does.
        """
        return asked_wholly(self.plan, self.last.index) if self.may_differ_at_last else ()

    @cached_property
    def key(self) -> object:
        """What is the same in all plans of one matching, as far as their matches go."""
        plan, window = self.plan, self.window
        kind = None if window is None else (window.kind, window.unit is None)
        known = plan.schema, plan.definitions, plan.options, plan.on_bad_row, plan.lateness
        return self.plan_within(None), kind, known, plan.warnings, *self._bad_rows

    @property
    def _bad_rows(self) -> tuple[object, ...]:
        """The columns by which rows are bad, where these are left out: for each alone."""
        return (self.plan.named,) if self.plan.on_bad_row == "quarantine" else ()

    @cached_property
    def exact_key(self) -> object:
        """The same, as far as the warnings go, too."""
        return self.key, self._own if self.may_overflow else None

    @property
    def _own(self) -> object:
        """What may differ."""
        return self.span, self.last.types, self.asked_last

    @cached_property
    def reason(self) -> str:
        """Why its matches cannot be those of a matching with another window; empty if they can."""
        plan, returned, window = self.plan, self.plan.returned, self.window
        if plan.union is not None:
            return "a pattern with choices is searched branch by branch"
        if plan.runs is not None:
            return "runs take events within their window"
        if plan.schema.is_imprecise:
            return "the window decides how likely a match of imprecise time is"
        if returned.limit is not None:
            return "LIMIT takes the first results"
        if returned.non_overlapping is not None:
            return "which matches overlap depends on the window"
        if any(None in (each.after, each.before) for each in negations_of(plan.operators)):
            return "a negated start or end reaches as far as the window"
        if window is not None and window.kind is WindowKind.PARTITION_EVENTS:
            return "its window counts the events of a partition"
        if window is not None and (window.size is None or isinstance(window.amount, Placeholder)):
            return "what its window counts is not known"
        return "an aggregate of a user" if plan.aggregates else ""

    @cached_property
    def may_overflow(self) -> bool:
        """Whether it is warned of arithmetic by its matches, which none with other ones may be."""
        every = (each for each in within(self.plan.operators) if isinstance(each, Operation))
        return any(not self._is_safe(each) for each in every)

    def _is_safe(self, operation: Operation) -> bool:
        """Whether it stays within int64: of floats, or the time that a match takes."""
        if operation.type.kind is Kind.FLOAT:
            return True
        if self.window is None or self.window.kind is not WindowKind.TIME:
            return False
        time = self.plan.schema.time
        are_times = (isinstance(e, Reference) and e.attribute == time for e in operation.operands)
        return operation.name == "-" and operation in self.evaluated and all(are_times)

    def plan_within(
        self,
        window: BoundWindow | None,
        types: tuple[str, ...] = (),
        *,
        asks_last: bool = False,
    ) -> Operator:
        """Its operators with another window, returning what depends on the match alone.

        The last event is of some types where these may differ. What is asked of it alone is left
        out, if they do not ask it.
        """
        columns = None if self.columns is None else self._numbered
        top = Transformation(self.plan.returned.input, columns, having=self.plan.returned.having)
        built = find(self.plan.operators, SequenceConstruction)
        changed: list[Operator] = [] if built is None else [replace(built, limit=None)]
        if find(self.plan.operators, SequenceScan) is not None:
            changed.append(self._scanning(types, asks_last=asks_last))
        root = exchanged(self.plan.operators, top, *changed)
        return root if find(root, Union) else _with_window(root, window)

    def _scanning(self, types: tuple[str, ...], *, asks_last: bool) -> SequenceScan:
        scan = require(self.plan.operators, SequenceScan)
        left_out = () if asks_last else self.asked_last
        left = tuple(each for each in scan.conditions if each not in left_out)
        scan = replace(scan, conditions=left, columns=None)  # for it reads what all of them do
        if not self.may_differ_at_last:
            return scan
        last = replace(self.last, types=types, is_any=len(types) > 1)
        return replace(scan, components=(*scan.components[:-1], last))

    @property
    def _numbered(self) -> tuple[Column, ...]:
        return tuple(Column(str(place), value) for place, value in enumerate(self.evaluated))


def _with_window(root: Operator, window: BoundWindow | None) -> Operator:
    operators = [
        replace(each, window=window)  # type: ignore[arg-type]
        if getattr(each, "window", None) is not None
        else each
        for each in chain(root)
    ]
    return rebuilt(operators)


def is_constant(value: Expression) -> bool:
    """Whether a value of RETURN is the same for all matches."""
    return not any(references(value))


def joint_plan(
    plans: Iterable[EnginePlan], types: Iterable[str] = (), *, drops: bool = False
) -> EnginePlan:
    """The plan of one matching for all of some, with the longest of their windows.

    Its last event may be of other types, too: those of statements that were there. It `drops` what
    is asked of the last event alone, also where this does not differ.
    """
    forms = [*map(MatchingForm, plans)]
    longest = max(forms, key=lambda each: (each.span or 0, repr(each.window))).window
    every = sorted({*types, *(name for form in forms for name in form.last.types or ())})
    asks_last = not drops and not differ_at_last(form.plan for form in forms)
    operators = forms[0].plan_within(longest, tuple(every), asks_last=asks_last)
    read = sorted({name for form in forms for name in form.plan.attributes})
    return replace(forms[0].plan, operators=operators, also_read=tuple(read))


def differ_at_last(plans: Iterable[EnginePlan]) -> bool:
    """Whether some plans ask other things of the last event by itself."""
    return len({frozenset(MatchingForm(plan).asked_last) for plan in plans}) > 1


class AddedAt(NamedTuple):
    """When a statement was added to a matching: from which event on matches are its own.

    So many rows had come by then, so many of them bad, and what was `standing` it is told first.
    """

    position: int = 0
    rows: int = 0
    bad: int = 0
    standing: tuple[str, ...] = ()


class JointNames(NamedTuple):
    """The statements that one matching serves, and types that last events may be of beside theirs.

    Those were of statements that are no longer there. Some statements were `added` later. Where it
    `drops` what is asked of the last event alone each is told by that which matches are its own.
    """

    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    added: Mapping[str, AddedAt] = MappingProxyType({})
    drops: bool = False


@dataclass(frozen=True)
class JointStatements:
    """The statements that one matching serves, and why others that are alike are matched apart."""

    joint: tuple[tuple[str, ...], ...]
    apart: Mapping[str, str]

    @classmethod
    def of(cls, plans: Mapping[str, EnginePlan]) -> JointStatements:
        """Those of some that read one input, by their names."""
        forms = {name: MatchingForm(plan) for name, plan in plans.items()}
        alike = [
            some
            for near in _alike(forms, lambda form: form.hint)
            for some in _alike(near, lambda form: form.key)
        ]
        joint, apart = list[tuple[str, ...]](), dict[str, str]()
        for some in alike:
            free = {name: form for name, form in some.items() if not form.reason}
            found = [tuple(each) for each in _alike(free, lambda form: form.exact_key)]
            joint += found
            served = {name for names in found for name in names}
            apart |= {n: f.reason or ARITHMETIC for n, f in some.items() if n not in served}
        return cls(tuple(joint), apart)


def can_be_joint(plans: Iterable[EnginePlan]) -> bool:
    """Whether one matching can serve all of some plans."""
    forms = [*map(MatchingForm, plans)]
    return not any(each.reason for each in forms) and len({e.exact_key for e in forms}) == 1


def _alike(
    forms: Mapping[str, MatchingForm], by: Callable[[MatchingForm], object]
) -> Iterator[dict[str, MatchingForm]]:
    """Those of which several are the same by something."""
    groups = dict[object, dict[str, MatchingForm]]()
    for name, form in forms.items():
        groups.setdefault(by(form), {})[name] = form
    return (some for some in groups.values() if len(some) > 1)

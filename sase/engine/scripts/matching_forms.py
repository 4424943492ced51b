"""Statements with the same matches except for window and last type, so that one matching serves.

    SEQ(A a, B b) WHERE [k] WITHIN 60 RETURN a.id AS id    │ are those of one matching of
    SEQ(A a, B b) WHERE [k] WITHIN 600 RETURN a.id AS x    │ SEQ(A a, ANY(B, C) b) WITHIN 600,
    SEQ(A a, C c) WHERE [k] WITHIN 60 RETURN a.id AS id    │ by last type, by how long they last
    SEQ(A a, B b) WHERE [k] AND b.n = 3 WITHIN 60 …        │ and by conditions on the last event

All matches of single events are wanted (skip till any match). Whether some events are a match
depends on these events alone. So the matches of a shorter window are the matches of a longer one
that last no longer, in the same order. Negated events between two of them do not depend on the
window either.
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
from sase.binding.conditions.parts import references
from sase.binding.types import Kind
from sase.cached_property import cached_property
from sase.engine.operators.contract import span_of
from sase.engine.scripts.asking import asked_wholly
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import (
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
    variables_of,
)
from sase.planning.plan.traversal import within
from sase.planning.split import negations_of

ARITHMETIC = (
    "arithmetic that leaves int64 is warned of by each of its own matches, and these differ"
)


@dataclass(frozen=True, eq=False)
class MatchingForm:
    """A plan, and the parts that must be equal in all plans of one matching."""

    plan: EnginePlan

    @cached_property
    def window(self) -> BoundWindow | None:
        """The window of its matches."""
        return next(iter(self.plan.windows), None)

    @cached_property
    def span(self) -> int | None:
        """The longest time of a match, in raw units of time or in events; None without a limit."""
        return None if self.window is None else span_of(self.window)

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of RETURN."""
        return self.plan.returned.columns

    @cached_property
    def evaluated(self) -> tuple[Expression, ...]:
        """The values of RETURN that depend on the match, each once, in an order of their own."""
        values = {each.value for each in self.columns or () if not is_constant(each.value)}
        return tuple(sorted(values, key=repr))

    @property
    def hint(self) -> object:
        """A part of the key that is cheap to compare."""
        plan = self.plan
        every = (*plan.positives[: -1 if self.may_differ_at_last else None], *plan.negatives)
        return tuple(each.types for each in every), len(chain(plan.operators))

    @property
    def last(self) -> BoundComponent:
        """The component of the last event."""
        return self.plan.positives[-1]

    @cached_property
    def may_differ_at_last(self) -> bool:
        """Whether the last type may differ between statements, while the rest is shared."""
        scan, last = find(self.plan.operators, SequenceScan), self.last
        return scan is not None and len(scan.components) > 1 and last.types is not None

    @cached_property
    def asked_last(self) -> tuple[Conjunct, ...]:
        """The conditions on the last event alone, as far as the index deals it out by them.

        They may differ from statement to statement, as the type may.
        """
        return asked_wholly(self.plan, self.last.index) if self.may_differ_at_last else ()

    @cached_property
    def key(self) -> object:
        """The parts that are equal in all plans with the same matches."""
        plan, window = self.plan, self.window
        kind = None if window is None else (window.kind, window.unit is None)
        known = plan.schema, plan.definitions, plan.options, plan.on_bad_row, plan.lateness
        return self._unnamed, kind, known, plan.warnings, *self._bad_rows

    @property
    def _unnamed(self) -> Operator:
        """Its operators without the names of bound variables, which have numbers, too."""
        root = self.plan_within(None)
        scan = find(root, SequenceScan)
        if scan is None:
            return root
        components = tuple(replace(each, variable="") for each in scan.components)
        return exchanged(root, replace(scan, components=components))

    @property
    def _bad_rows(self) -> tuple[object, ...]:
        """The columns that make rows bad, if bad rows are set aside: these must be equal."""
        return (self.plan.named,) if self.plan.on_bad_row == "quarantine" else ()

    @cached_property
    def exact_key(self) -> object:
        """The parts that are equal in all plans with the same matches and the same warnings."""
        return self.key, self._own if self.may_overflow else None

    @property
    def _own(self) -> object:
        """The parts that may differ."""
        names = tuple(variables_of(self.plan.operators).items())
        return self.span, self.last.types, self.asked_last, names

    @cached_property
    def reason(self) -> str:
        """Why another window's matching cannot serve it; empty if it can."""
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
            return "the unit of its window is not known"
        return "an aggregate of a user" if plan.aggregates else ""

    @cached_property
    def may_overflow(self) -> bool:
        """Whether its matches may cause arithmetic warnings; other matches must not cause them."""
        every = (each for each in within(self.plan.operators) if isinstance(each, Operation))
        return any(not self._is_safe(each) for each in every)

    def _is_safe(self, operation: Operation) -> bool:
        """Whether an operation cannot leave int64: of floats, or the duration of a match."""
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
        """Its operators with another window; RETURN has only values that depend on the match.

        The last event has `types` where these may differ. Without `asks_last` the conditions on it
        alone are left out.
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
        scan = replace(scan, conditions=left, columns=None)  # it reads the columns of all
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
    """The plan of one matching for several plans, with the longest of their windows.

    Its last event may also have other `types`: those of statements that were removed. With `drops`
    it has no conditions on the last event alone, even if these do not differ.
    """
    forms = [*map(MatchingForm, plans)]
    longest = max(forms, key=lambda each: (each.span or 0, repr(each.window))).window
    every = sorted({*types, *(name for form in forms for name in form.last.types or ())})
    asks_last = not drops and not differ_at_last(form.plan for form in forms)
    operators = forms[0].plan_within(longest, tuple(every), asks_last=asks_last)
    read = sorted({name for form in forms for name in form.plan.attributes})
    return replace(forms[0].plan, operators=operators, also_read=tuple(read))


def differ_at_last(plans: Iterable[EnginePlan]) -> bool:
    """Whether plans differ in conditions on the last event alone."""
    return len({frozenset(MatchingForm(plan).asked_last) for plan in plans}) > 1


class AddedAt(NamedTuple):
    """When a statement was added to a matching: its matches have events from `position` on.

    `rows` rows had come by then, of these `bad` bad rows. Its first report has the `standing`
    warnings.
    """

    position: int = 0
    rows: int = 0
    bad: int = 0
    standing: tuple[str, ...] = ()


class JointNames(NamedTuple):
    """The statements that one matching serves, and the types that last events may have.

    Some types are of statements that were removed. Some statements were `added` later. With `drops`
    the matching has no conditions on the last event alone, and each statement filters its matches
    by its own conditions.
    """

    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    added: Mapping[str, AddedAt] = MappingProxyType({})
    drops: bool = False


@dataclass(frozen=True)
class JointStatements:
    """The statements that one matching serves, and why similar statements are matched apart."""

    joint: tuple[tuple[str, ...], ...]
    apart: Mapping[str, str]

    @classmethod
    def of(cls, plans: Mapping[str, EnginePlan]) -> JointStatements:
        """Group statements that read one input, given by their names."""
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
    """Groups of several forms with an equal part."""
    groups = dict[object, dict[str, MatchingForm]]()
    for name, form in forms.items():
        groups.setdefault(by(form), {})[name] = form
    return (some for some in groups.values() if len(some) > 1)

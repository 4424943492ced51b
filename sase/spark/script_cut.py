"""Choose the statements of each Spark job of a script, and the cut of their inputs.

Statements that read each other are in one job. Others share a job if they read the same input and
may be cut in the same way. A cut by key also serves composite events that have the key as a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sase.base.interface import option
from sase.binding.bound import BoundQuery, Column, EquivalenceTest, Reference, WindowKind
from sase.engine.scripts.plan import StatementPlan
from sase.planning.engine_plan import EnginePlan

COUNTS = "`{}` stops at LIMIT, and only one task knows which results are first"
NO_CUT = "`{}` has neither a window in time nor the same key as the statements beside it"
UNSAID = (
    "`{}` has no key of the statements beside it, and slices of imprecise time look back by how"
    " long an interval may be: say with  {}"
)
NO_KEY = "a stream is parted by key alone, and there is no common key of {}"
SEVERAL = "times of several inputs are brought to one by the task alone, and there is no common key"


@dataclass(frozen=True)
class ScriptCut:
    """The statements of a job, with the tests that partition their inputs, or the halo of slices.

    Without both, one task runs them, for a `reason`. Statements of single events need no reason.
    """

    statements: tuple[StatementPlan, ...]
    inputs: tuple[str | None, ...]
    keys: tuple[EquivalenceTest, ...] = ()
    halo: int | None = None
    reason: str = ""

    @property
    def key(self) -> str | None:
        """The attribute by which the inputs are cut, or None."""
        return self.keys[0].attribute if self.keys else None


def script_cuts(
    statements: Sequence[StatementPlan],
    queries: Mapping[str, BoundQuery],
    *,
    in_slices: bool = True,
) -> list[ScriptCut]:
    """The jobs of a script, in the order of the statements; streams are not cut into slices."""
    found: dict[object, list[_Component]] = {}
    for number, component in enumerate(_components(statements)):
        keys = component.keys(queries)
        together: object = number
        if len(component.inputs) == 1 and (keys or component.is_single):
            together = (component.inputs, keys[0].attribute if keys else None)
        found.setdefault(together, []).append(component)
    return [_cut(group, queries, in_slices) for group in _with_single(found)]


def _with_single(found: dict[object, list[_Component]]) -> Iterator[list[_Component]]:
    """Add statements of single events to another job over the same input."""
    for together, group in list(found.items()):
        if all(each.is_single for each in group):
            inputs = group[0].inputs
            others = (o for k, o in found.items() if k != together and o[0].inputs == inputs)
            host = next((o for o in others if not all(each.is_single for each in o)), None)
            if host is not None:
                host += group
                del found[together]
    yield from found.values()


def _cut(
    group: Sequence[_Component], queries: Mapping[str, BoundQuery], in_slices: bool
) -> ScriptCut:
    statements = tuple(each for component in group for each in component.statements)
    inputs = group[0].inputs
    bound = [component for component in group if not component.is_single]
    keys = bound[0].keys(queries) if bound else ()
    if keys:
        return ScriptCut(statements, inputs, keys[:1])
    if not bound:
        return ScriptCut(statements, inputs)
    limited = [each.name for each in statements if each.plan.returned.limit is not None]
    if limited:
        return ScriptCut(statements, inputs, reason=COUNTS.format(limited[0]))
    if not in_slices:
        names = ", ".join(each.name for each in statements)
        return ScriptCut(statements, inputs, reason=NO_KEY.format(names))
    if len(inputs) > 1:
        return ScriptCut(statements, inputs, reason=SEVERAL)
    halo = max(component.halo for component in bound)
    if halo < 0:
        first = next(e for c in bound for e in c.statements if _reach(e.plan) is None)
        schema = first.plan.schema
        is_unsaid = schema.is_imprecise and schema.longest is None and not schema.is_merged
        why = UNSAID if is_unsaid and first.plan.split.before is not None else NO_CUT
        return ScriptCut(statements, inputs, reason=why.format(first.name, option("longest")))
    return ScriptCut(statements, inputs, halo=halo)


@dataclass(frozen=True)
class _Component:
    """Statements that read each other, each after the statements that it reads."""

    statements: tuple[StatementPlan, ...]

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The inputs that the statements read."""
        streams = {each.name for each in self.statements}
        read = (name for each in self.statements for name in each.sources if name not in streams)
        return tuple(dict.fromkeys(read))

    @property
    def is_single(self) -> bool:
        """Whether this is a statement of single events, for which any cut will do."""
        (first, *more) = self.statements
        return not more and is_single(first.plan)

    def keys(self, queries: Mapping[str, BoundQuery]) -> tuple[EquivalenceTest, ...]:
        """Tests by which all statements may be cut, with an attribute of all inputs."""
        tests = (test for each in self.statements for test in each.plan.split.keys)
        by_name = {test.attribute: test for test in tests if not test.attributes}
        return tuple(by_name[n] for n in sorted(by_name) if self._is_cut_by(n, queries))

    def _is_cut_by(self, key: str, queries: Mapping[str, BoundQuery]) -> bool:
        carried: dict[str | None, frozenset[str]] = dict.fromkeys(self.inputs, frozenset([key]))
        for each in self.statements:
            names = frozenset.intersection(*(carried[name] for name in each.sources))
            tests = {test.attribute for test in each.plan.split.keys if not test.attributes}
            is_limited = each.plan.returned.limit is not None
            if is_limited or not (tests & names or is_single(each.plan)):
                return False
            carried[each.name] = frozenset(_carried(queries[each.name], names))
        return True

    @property
    def halo(self) -> int:
        """How far back results depend on events; negative if no window limits this."""
        found: dict[str | None, int] = dict.fromkeys(self.inputs, 0)
        for each in self.statements:
            own = _reach(each.plan)
            if own is None:
                return -1
            found[each.name] = own + max(found[name] for name in each.sources)
        return max(found.values())


def _components(statements: Sequence[StatementPlan]) -> Iterator[_Component]:
    """Groups of statements that read each other's results."""
    names = {each.name for each in statements}
    group = {name: name for name in names}
    for each in statements:
        for source in each.sources:
            if source in names:
                old, new = group[each.name], group[source or ""]
                group = {name: new if own == old else own for name, own in group.items()}
    for first in dict.fromkeys(group[each.name] for each in statements):
        yield _Component(tuple(each for each in statements if group[each.name] == first))


def is_single(plan: EnginePlan) -> bool:
    """Whether matches are single events, without a negative element."""
    is_one = len(plan.positives) == 1 and not plan.negatives
    if plan.schema.is_imprecise:  # its matches are stored as series
        is_one = is_one and not plan.branches and plan.positives[0].is_single
    elif plan.has_series:
        return False
    return is_one and plan.returned.limit is None and not plan.counts_all


def _reach(plan: EnginePlan) -> int | None:
    """How long before its detection a result depends on events; None without a limit."""
    longest = plan.schema.longest if plan.schema.is_imprecise else 0
    if longest is None or is_single(plan):
        return longest
    before = plan.split.around(longest).before
    if before is None or before.kind is not WindowKind.TIME:
        return None
    return before.size


def _carried(query: BoundQuery, names: frozenset[str]) -> Iterator[str]:
    """The columns of composite events with the attribute that partitions events."""
    if query.columns is not None:
        yield from (column.name for column in query.columns if _holds(column, query, names))
        return
    for each in query.positives:
        if not each.is_series and each.group is None:
            yield from (f"{each.variable}_{name}" for name in names)


def _holds(column: Column, query: BoundQuery, names: frozenset[str]) -> bool:
    value = column.value
    if not isinstance(value, Reference) or value.inner is not None:
        return False
    component = next(each for each in query.positives if each.index == value.component)
    is_event = not component.is_series and component.group is None
    return is_event and value.attribute in names and value.undeclared_by == frozenset()

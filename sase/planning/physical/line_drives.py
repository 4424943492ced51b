"""The drives of deterministic runs, and of walks back through series: from columns to matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from sase.binding.bound import (
    Comparison,
    Part,
    Reference,
    When,
)
from sase.binding.types import Kind
from sase.lang.ast import StrategyName
from sase.planning.declined import NO_RUNS, NO_WALKS, Declined
from sase.planning.physical.drive import Drive, DriveRequest, Need, first_of
from sase.planning.physical.operators import (
    Tests,
)
from sase.planning.physical.run_algorithm import RunRequest
from sase.planning.physical.runs import PostponedWalk, RunsInLines, RunsInStretches
from sase.planning.plan import nodes
from sase.planning.reasoning.run_forms import steps_of

# The bits of a byte mark the components of a line; a stretch has room for three attributes.
MOST_LEVELS, MOST_COMPARED = 8, 3
EVENTS_COMPARED = "events are compared with others"
COUNTED = "ANALYZE counts runs one by one"


@dataclass(frozen=True)
class LineDrive(Drive):
    """Evaluates deterministic runs from columns to matches; it stores lines in its own arrays."""

    compares: bool
    visits_all: bool = True

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs; `NUMBERS` only if events are compared, `MOST_OF_TYPES` if all are visited."""
        asked = {Need.NUMBERS: self.compares, Need.MOST_OF_TYPES: self.visits_all}
        return tuple(each for each in super().needs if asked.get(each, True))

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive, unless the plan does more than compare or stores lines otherwise."""
        runs = request.plan.runs
        if runs is None:
            return NO_RUNS
        reason = cls._why_another(request) or _why_operators(runs, request)
        reason = reason or cls._why_kept_otherwise(request)
        if reason is not None:
            return Declined(reason)
        return cls(_key_of(runs, request), bool(runs.conditions))

    @classmethod
    def _why_another(cls, request: DriveRequest) -> str | None:
        """The reason why the algorithm of the runs is none of this drive, or None."""
        return _why_no_lines(request)

    @classmethod
    def _why_kept_otherwise(cls, request: DriveRequest) -> str | None:
        raise NotImplementedError

    @staticmethod
    def _why_apart(request: DriveRequest) -> str | None:
        """The reason why lines are stored one by one, or None."""
        assert request.plan.runs is not None
        counted = COUNTED if request.plan.options.analyze else None
        return kept_apart(request.plan.runs) or counted


class SharedLinesDrive(LineDrive):
    """Stores lines that wait for the same events in one stack."""

    name = "shared lines"
    summary = (
        "runs that wait for the same events share a stack of rows, from columns to matches, by one"
        " kernel"
    )
    every_need = (Need.MOST_OF_TYPES, Need.INTEGER_KEYS, Need.FEW_EVENTS)

    @classmethod
    def _why_kept_otherwise(cls, request: DriveRequest) -> str | None:
        return cls._why_apart(request)


class FusedLinesDrive(LineDrive):
    """Stores each line separately."""

    name = "fused lines"
    summary = "deterministic runs, from columns to matches, by one kernel"
    every_need = (
        Need.MOST_OF_TYPES,
        Need.INTEGER_KEYS,
        Need.CODES_FIT,
        Need.FEW_KEYS,
        Need.NUMBERS,
    )

    @classmethod
    def _why_kept_otherwise(cls, request: DriveRequest) -> str | None:
        return None if cls._why_apart(request) else "runs are kept in shared stacks"


class FusedWalkDrive(LineDrive):
    """Stores events in stacks of rows, and walks back through series."""

    name = "fused walks"
    summary = (
        "walks back from last events through stacks of rows, from columns to matches, by one kernel"
    )
    every_need = (Need.MOST_OF_TYPES, Need.INTEGER_KEYS, Need.FEW_EVENTS, Need.CODES_FIT)

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive; only conditions on single events are decided for all events."""
        made, runs = super().of(request), request.plan.runs
        if isinstance(made, Declined) or runs is None:
            return made
        return replace(made, visits_all=bool(runs.simple))

    @classmethod
    def _why_another(cls, request: DriveRequest) -> str | None:
        return None if isinstance(request.runs, PostponedWalk) else NO_WALKS.reason

    @classmethod
    def _why_kept_otherwise(cls, request: DriveRequest) -> str | None:
        walked = request.plan.runs
        assert walked is not None
        filters = walked.early + walked.dismissing + walked.discarding + walked.safe
        first_alone = any(each.when is When.FIRST for each in walked.simple)
        may_lack = walked.components[-1].is_optional and walked.components[-1].minimum == 0
        asks_more: dict[str, object] = {
            EVENTS_COMPARED: walked.conditions or walked.tested or filters,
            "a match may be a single event": len(walked.components) == 1 + may_lack,
            "a component is a repeated group": walked.has_groups,
            "a component before the last one may be absent": any(
                each.minimum == 0 for each in walked.components[:-1]
            ),
            "conditions are on the first event of a series alone": first_alone,
        }
        return first_of(asks_more) or _why_stacks_differ(walked, or_none=may_lack)


def kept_apart(lines: nodes.RunEvaluation) -> str | None:
    """The reason why deterministic runs do not share their events, or None.

    They share events if all runs that wait for a component accept the same events.
    """
    series = lines.components[-2:-1]
    asks_more = {
        f"the strategy is {lines.strategy.value}": (
            lines.strategy is not StrategyName.SKIP_TILL_NEXT_MATCH
        ),
        EVENTS_COMPARED: bool(lines.conditions),
        "a series has a greatest length": any(
            not each.is_single and each.maximum is not None for each in series
        ),
    }
    return first_of(asks_more) or _why_stacks_differ(lines)


def _why_stacks_differ(runs: nodes.RunEvaluation, *, or_none: bool = False) -> str | None:
    """The reason why events are not on one stack for each level and key, or None.

    The last component has a single event, `or_none`.
    """
    # An event of any type matches several components.
    types = [name for each in runs.components for name in each.types or ("", "")]
    asks_more = {
        "a type fits several components": len(types) != len({*types}),
        "the last component is a series": not (or_none or runs.components[-1].is_single),
        "the window counts the events of a partition": runs.counts_in_partitions,
    }
    return first_of(asks_more)


def _key_of(runs: nodes.RunEvaluation, request: DriveRequest) -> Tests:
    """The key of runs; empty if a match is a single event, so that nothing is compared."""
    return () if runs.is_alone and not request.plan.negatives else runs.partitions


def _why_no_lines(request: DriveRequest) -> str | None:
    """The reason why runs are not in lines, or compare events as no kernel does, or None."""
    runs, lines = request.plan.runs, request.runs
    assert runs is not None
    if not isinstance(lines, RunsInLines | RunsInStretches):
        if runs.algorithm:
            return f"the evaluation is {runs.algorithm}"
        if runs.is_of_sets:
            return "the evaluation is through sets"
        return "runs may fork" if request.plan.options.lines else "lines are switched off"
    return _why_compared(lines, request)


def _why_operators(runs: nodes.RunEvaluation, request: DriveRequest) -> str | None:
    """The reason why an operator, or the need of an event by itself, requires blocks, or None."""
    plan, (_, *above), key = request.plan, request.operators, _key_of(runs, request)
    shown = RunRequest(plan.operators).shown
    asks_more: dict[str, object] = {
        "events come in pieces": request.in_pieces,
        "an operator between evaluation and output looks at each match": len(above) != 1,
        "not each match is a result": not shown or runs.nothing is not None,
        "conditions on single events may overflow": _may_overflow(runs, request),
        f"there are more than {MOST_LEVELS} components": len(plan.positives) > MOST_LEVELS,
        "results end at LIMIT": plan.returned.limit is not None,
        "events are ranked by another key": {*runs.tests} != {*key} and plan.ranked,
    }
    for test in key:
        reason = f"not every type has the key `{test.attribute}` under this name"
        asks_more[reason] = test.attributes or not request.types.is_common(test.attribute)
    return first_of(asks_more)


def _why_compared(lines: RunsInLines | RunsInStretches, request: DriveRequest) -> str | None:
    """The reason why comparisons of events require the operators, or None."""
    if isinstance(lines, RunsInLines):
        is_one = not lines.runs.conditions or _compares_once(lines.runs, request)
        return None if is_one else "events are compared in more than one way"
    attributes = {each.attribute for each in steps_of(lines.runs) or ()}
    if len(attributes) > MOST_COMPARED:
        return f"events are compared by more than {MOST_COMPARED} attributes"
    return None


def _compares_once(runs: nodes.RunEvaluation, request: DriveRequest) -> bool:
    """Whether the only comparison is of a further event with the first or the previous one."""
    conjunct, *more = [edge.conjunct for edge in runs.conditions]
    series = next((each for each in runs.components if not each.is_single), None)
    compared = conjunct.condition
    if more or series is None or not isinstance(compared, Comparison):
        return False
    if conjunct.component != series.index or conjunct.when is not When.FURTHER:
        return False
    sides = [each for each in (compared.left, compared.right) if isinstance(each, Reference)]
    if len(sides) != 2 or sides[0].attribute != sides[1].attribute:
        return False
    if any(each.component != series.index or each.undeclared_by for each in sides):
        return False
    if series.types is None and request.types.unknown_types_lack(sides[0].attribute):
        return False
    parts = {each.part for each in sides}
    is_text = any(each.type.kind is Kind.STRING for each in sides)
    is_one = Part.CURRENT in parts and bool(parts & {Part.PREVIOUS, Part.FIRST})
    return is_one and (not is_text or compared.operator in ("=", "!="))


def _may_overflow(runs: nodes.RunEvaluation, request: DriveRequest) -> bool:
    """Whether conditions on one event have arithmetic that columns may not do exactly."""
    known = {each.index: each for each in runs.components}
    return any(
        request.calculates(each.condition, known[each.component])
        for each in runs.simple
        if each.component is not None and (runs.input is None or each.when is When.FIRST)
    )

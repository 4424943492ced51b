"""Direct comparisons of a new event with the state of a run, without a program."""

from __future__ import annotations

from typing import NamedTuple

from sase.binding.bound import Aggregate, Comparison, Condition, Expression, Part, Reference
from sase.engine.expressions.layout import is_text
from sase.engine.expressions.lowering import ACCEPTED
from sase.engine.expressions.series import AT, Fills
from sase.engine.kernels.expressions.slow_paths import ordered
from sase.engine.kernels.jit.compiler import address_of
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING
from sase.lang.ast import TURNED


class DirectComparison(NamedTuple):
    """The accepted orders as bits, the column of the new event, and the other side.

    The other side is an event or a value: its source, its word, and for an event the column.
    `address` is the kernel that compares values of different scales.
    """

    accepted: int
    column: int
    source: int = 0
    word: int = 0
    other: int = 0
    address: int = 0


NOT_DIRECT = DirectComparison(0, 0)


class BoundAt(NamedTuple):
    """The state that an event is bound at, and whether it is the first event there or not."""

    state: int
    moment: int


def direct_comparison(
    condition: Condition | Expression, fills: Fills, at: BoundAt
) -> DirectComparison:
    """Return the direct comparison with the event that is bound, or `NOT_DIRECT`."""
    if not isinstance(condition, Comparison) or fills.loops:
        return NOT_DIRECT
    sign, left, right = condition.operator, condition.left, condition.right
    if is_text(left, right) and sign not in ("=", "!="):
        return NOT_DIRECT
    if not _is_new(left, fills, at):
        sign, left, right = TURNED[sign], right, left
    if not (_is_new(left, fills, at) and isinstance(left, Reference)):
        return NOT_DIRECT
    known = _other_side(right, fills, at)
    if known is None:
        return NOT_DIRECT
    address = address_of(ordered) if fills.base.may_mix(left, right) else 0
    return DirectComparison(ACCEPTED[sign], _column(left, fills), *known, address)


def _is_new(side: Expression, fills: Fills, at: BoundAt) -> bool:
    """Whether it is an attribute of the event that is bound."""
    if not isinstance(side, Reference) or fills.base.lacks(side):
        return False
    part, term = side.part, fills.term
    is_own = side.component == term.own
    if side.inner is not None:
        states = fills.groups[side.component].slots[side.inner.variable]
        if part is not Part.CURRENT or side.component != term.at_hand or at.state not in states:
            return False
        part, is_own = side.inner.part, side.inner.variable == term.own_variable
    elif fills.levels[side.component] != at.state:
        return False
    if part in AT:
        return is_own
    return part is Part.EVENT or (part is Part.FIRST and at.moment == of.BEGIN)


def _other_side(side: Expression, fills: Fills, at: BoundAt) -> tuple[int, int, int] | None:
    """Source, word and column of the other side, if the run knows it before the event is bound."""
    if not isinstance(side, Reference | Aggregate) or fills.base.lacks(side):
        return None
    if isinstance(side, Reference):
        row = _source_of(fills, fills.event(side))
        column = _column(side, fills)
    elif side.function in ("min", "max") and side.attribute is not None and not is_text(side):
        kind = of.LEAST if side.function == "min" else of.MOST
        row = _source_of(fills, fills.value(side, kind))
        column = NOTHING
    else:
        return None
    is_known = _is_known_in_group if side.component in fills.groups else _is_known
    return (row.source, row.word, column) if is_known(side, row, fills, at) else None


class _Source(NamedTuple):
    """The source of a value: its kind, its word, and the word that leads back to its node."""

    source: int
    word: int
    kind: int
    back: int

    @property
    def is_as_of_now(self) -> bool:
        """Whether a node has the value for all events up to its own."""
        return self.back == 0 and self.source in (of.KNOWN_EVENT, of.KNOWN_VALUE)

    @property
    def is_before(self) -> bool:
        """Whether the value is of the event before in the same series."""
        return self.source in (of.EVENT_BEFORE, of.VALUE_BEFORE)


def _is_known(side: Reference | Aggregate, row: _Source, fills: Fills, at: BoundAt) -> bool:
    """Whether the run has a component's value before the event is bound."""
    own = fills.levels[side.component]
    is_earlier = (row.back > 0 or row.is_before) and at.moment == of.TAKE
    is_first = row.source == of.KNOWN_EVENT and row.kind == of.FIRST_EVENT
    if own == at.state and not (is_earlier or (is_first and at.moment == of.TAKE)):
        return False
    is_known = row.source in (of.KNOWN_EVENT, of.KNOWN_VALUE)
    return is_earlier or (is_known and fills.is_bound_before(own, at.state))


def _is_known_in_group(
    side: Reference | Aggregate, row: _Source, fills: Fills, at: BoundAt
) -> bool:
    """Whether the run has a group's value before the event is bound.

    A node has the values of its own iteration. That is the previous iteration if the event begins a
    new one.
    """
    place, inner = fills.groups[side.component], side.inner
    if side.component != fills.term.at_hand:
        return row.is_as_of_now and place.last < at.state
    if inner is None:
        return False
    if row.is_before:
        return at.moment == of.TAKE
    if row.back > 0:
        is_known = row.source in (of.KNOWN_EVENT, of.KNOWN_VALUE)
        return is_known and at.moment == of.BEGIN and at.state in place.beginning
    is_other = at.state not in place.slots[inner.variable]
    if side.part is Part.FIRST:
        return row.is_as_of_now and is_other
    is_first = inner.part is Part.FIRST and at.moment == of.TAKE
    stays = at.moment == of.TAKE or at.state in place.following
    is_of_it = side.part is Part.CURRENT and stays and (is_other or is_first)
    return row.is_as_of_now and is_of_it


def _column(reference: Reference, fills: Fills) -> int:
    return fills.base.places[(reference.component, reference.attribute)]


def _source_of(fills: Fills, place: int) -> _Source:
    source, _, word, _, _, back = next(row for row in fills.rows if row[4] == place)
    kinds = {word: kind for _, kind, word, _, _ in fills.words.changes}
    return _Source(source, word, kinds.get(word, NOTHING), back)

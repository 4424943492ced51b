"""Direct comparisons of a new event with the state of a run, without a program."""

from __future__ import annotations

from typing import NamedTuple

from sase.binding.bound import Aggregate, Comparison, Condition, Expression, Part, Reference
from sase.engine.expressions.constants import is_text
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


def direct_comparison(condition: Condition | Expression, fills: Fills) -> DirectComparison:
    """Return the direct comparison with the newly bound event, or `NOT_DIRECT`."""
    if not isinstance(condition, Comparison) or fills.loops:
        return NOT_DIRECT
    sign, left, right = condition.operator, condition.left, condition.right
    if is_text(left, right) and sign not in ("=", "!="):
        return NOT_DIRECT
    if not _is_new(left, fills):
        sign, left, right = TURNED[sign], right, left
    if not (_is_new(left, fills) and isinstance(left, Reference)):
        return NOT_DIRECT
    known = _other_side(right, fills)
    if known is None:
        return NOT_DIRECT
    address = address_of(ordered) if fills.base.may_mix(left, right) else 0
    return DirectComparison(ACCEPTED[sign], _column(left, fills), *known, address)


def _is_new(side: Expression, fills: Fills) -> bool:
    """Whether a value is an attribute of the newly bound event."""
    if not isinstance(side, Reference) or fills.base.lacks(side):
        return False
    level, moment = divmod(fills.term.moment, of.MOMENTS)
    if side.part in AT:
        return side.component == fills.term.own
    is_first = side.part is Part.EVENT or (side.part is Part.FIRST and moment == of.BEGIN)
    return is_first and fills.levels[side.component] == level


def _other_side(side: Expression, fills: Fills) -> tuple[int, int, int] | None:
    """Source, word and column of the other side, if the run has it before the event is bound."""
    if not isinstance(side, Reference | Aggregate) or fills.base.lacks(side):
        return None
    level, moment = divmod(fills.term.moment, of.MOMENTS)
    own = fills.levels[side.component]
    if isinstance(side, Reference):
        source, word, kind, back = _source_of(fills, fills.event(side))
        column = _column(side, fills)
    elif side.function in ("min", "max") and side.attribute is not None and not is_text(side):
        kinds = (of.LEAST, of.LEAST) if side.function == "min" else (of.MOST, of.MOST)
        source, word, kind, back = _source_of(fills, fills.value(side, kinds))
        column = NOTHING
    else:
        return None
    looks_back = back > 0 or source in (of.EVENT_BEFORE, of.VALUE_BEFORE)
    is_earlier = looks_back and moment == of.TAKE
    is_first = source == of.KNOWN_EVENT and kind == of.FIRST_EVENT and moment == of.TAKE
    if own == level and not (is_earlier or is_first):
        return None
    is_known = source in (of.KNOWN_EVENT, of.KNOWN_VALUE) and fills.is_bound_before(own, level)
    return (source, word, column) if is_known or is_earlier else None


def _column(reference: Reference, fills: Fills) -> int:
    return fills.base.places[(reference.component, reference.attribute)]


def _source_of(fills: Fills, place: int) -> tuple[int, int, int, int]:
    """The source and word of the row at a place, the word's kind, and the steps it goes back."""
    source, _, word, _, _, back = next(row for row in fills.rows if row[4] == place)
    kinds = {word: kind for _, kind, word, _, _ in fills.words.changes}
    return source, word, kinds.get(word, NOTHING), back

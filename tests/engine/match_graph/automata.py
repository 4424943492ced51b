"""Automata of components by their bounds alone."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import BoundComponent
from sase.engine.match_graph import SlotAutomaton
from sase.lang.ast import StrategyName
from sase.planning.automaton.build import automaton_of
from sase.planning.automaton.unrolled import Unrolled

Bounds = tuple[tuple[int, int | None], ...]


def slots_of(bounds: Bounds, first_of_set: int | None = None, ranks: Sequence[int] = ()):
    """The slots of components, those from the `first_of_set` on and those before it a set each."""
    components = [
        BoundComponent(
            n, f"c{n}", True, None, is_series=most != 1, minimum=least, maximum=most,
            set_of=None if first_of_set is None else int(n >= first_of_set),
            written=ranks[n] if ranks else None,
        )
        for n, (least, most) in enumerate(bounds)
    ]  # fmt: skip
    automaton = automaton_of(components, StrategyName.SKIP_TILL_ANY_MATCH)
    return SlotAutomaton(Unrolled(automaton, are_tied=first_of_set is not None))

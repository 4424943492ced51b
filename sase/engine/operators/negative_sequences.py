"""Negative sequences: their events by component and key, and the search of a match in each gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Conjunct, ConjunctClass
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.negative_sequences import (
    CROWDED,
    DEPTH,
    DONE,
    FRESH,
    NUMBER,
    STATE,
    TRIED,
    Search,
    SequenceLists,
    forbid_by_sequences,
    insert_components,
)
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, MOMENTS
from sase.engine.operators.bindings.bindings import Bindings, as_bindings, match_arrays
from sase.engine.operators.contract import Context, Sequences
from sase.engine.operators.negative_lists import NegativeLists
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import terms_at
from sase.planning.negatives import NegativeSequence
from sase.planning.nodes import Negation

# Nodes and frames of a search to begin with.
ROOM = 16


class SequencesInGaps(NegativeLists):
    """A negative sequence of which a match is looked for in the gap of each match.

    Its components follow those of the match as further levels.
    """

    def __init__(self, node: NegativeSequence, negation: Negation, context: Context) -> None:
        self.count = len(node.components)
        super().__init__(node, negation, context)
        bits = [context.bit_of(each.index) for each in node.components]
        self._bits = frozen(np.array(bits, np.int64))
        joint = joint_context(node, context)
        first = self._first = self._levels(joint) - len(node.positives)
        self._lists = lists_of(node, first)
        moments = MOMENTS * (first + self.count)
        terms = [self._term(conjunct, term) for conjunct, term in terms_of(node, first)]
        self._program = self._make_program(joint, terms, moments)
        self._cells = self._program.cells(ROOM)
        self._search = Search(
            np.zeros(STATE, np.int64),
            np.zeros((ROOM, 2), np.int64),
            np.zeros(self.count, np.int64),
            np.zeros(2, np.int64),
        )

    def _levels(self, joint: Context) -> int:
        """How many levels there are, with those of the sequence."""
        return joint.levels

    def _term(self, conjunct: Conjunct, term: Term) -> Term:
        """How programs are given a condition."""
        return term

    def _make_program(self, joint: Context, terms: list[Term], moments: int) -> Any:
        """The program of the conditions."""
        return SeriesProgram(joint, self.rest, terms, moments, of_runs=True)

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block, each to the lists of its components."""
        arrivals = self._arrivals(block, states, len(block) * self.count)
        insert_components(arrivals, self._bits, self.arrays)
        self.most = max(self.most, self.alive)

    def forbid_sequences(self, found: Sequences, keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for the sequences in whose gap there is a match of this one."""
        if keep.any():
            self.forbid(as_bindings(found), keep, at_end=self.is_end)

    def forbid(self, found: Bindings, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches in whose gap there is a match of the sequence."""
        asked = int(np.count_nonzero(keep))
        self._make_room(0, self._context.dictionary.size(self._key) * self.count)
        self._search.state[NUMBER], self._search.state[DEPTH] = 0, FRESH
        why = CROWDED
        while why != DONE:
            why = self._search_gaps(found, keep, at_end=at_end)
            self._context.check(0)
            if why == CROWDED:
                self._make_nodes()
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))

    def _search_gaps(self, found: Any, keep: NDArray[np.bool_], *, at_end: bool) -> int:
        """Go on with the search; return why it stopped."""
        bound, matches = match_arrays(found.by_level()), match_arrays(found)
        return forbid_by_sequences(
            self._program.machine(), self._cells, bound, matches, self._lists, self.arrays,
            self.gap, self.stored(), self._search, at_end, keep,
        )  # fmt: skip

    @property
    def tried(self) -> int:
        """How many events were bound, or turned away, in gaps."""
        return int(self._search.state[TRIED])

    def _make_nodes(self) -> None:
        cells, frames = self._cells, self._search.frames
        self._cells = self._program.cells(2 * len(cells))
        self._cells[: len(cells)] = cells
        frames = np.append(frames, np.zeros_like(frames), axis=0)
        self._search = self._search._replace(frames=frames)


def joint_context(node: NegativeSequence, context: Context) -> Context:
    """The context in which the components of the sequence follow those of a match."""
    inside = node.positives
    others = tuple(each for each in context.negatives if each not in inside)
    cache = context.cache.setdefault(("negative sequence", node), {})
    return replace(
        context, components=(*context.components, *inside), negatives=others, cache=cache
    )


def lists_of(node: NegativeSequence, first: int) -> SequenceLists:
    """Where the events of the components are, whose levels follow those of a match."""
    numbers = {each.index: number for number, each in enumerate(node.components)}
    absences, levels = [each for each in node.components if each.negated], _levels(node, first)
    # Before the first component that stands behind it.
    behind = [min(n for i, n in levels.items() if i > each.index) for each in absences]
    own = [numbers[each.index] for each in node.positives]
    places = [(numbers[each.index], n) for each, n in zip(absences, behind, strict=True)]
    return SequenceLists(
        len(node.components),
        frozen(np.array(own, np.int64)),
        frozen(np.array(places, np.int64).reshape(-1, 2)),
    )


def terms_of(node: NegativeSequence, first: int) -> Iterator[tuple[Conjunct, Term]]:
    """The conditions on several events with their moments; those on an absence come at the end."""
    levels = _levels(node, first)
    absences = [each.index for each in node.components if each.negated]
    must = next(each for each in node.positives if each.minimum > 0)
    for conjunct in node.together:
        if conjunct.component is None:
            yield conjunct, Term(conjunct.condition, MOMENTS * levels[must.index] + BEGIN)
        elif conjunct.kind is ConjunctClass.NEGATIVE:
            number = absences.index(conjunct.component)
            moment = MOMENTS * (first + len(levels) + number) + FINISH
            yield conjunct, Term(conjunct.condition, moment, judged=conjunct.component)
        else:
            for term in terms_at(conjunct, MOMENTS * levels[conjunct.component]):
                yield conjunct, term


def _levels(node: NegativeSequence, first: int) -> dict[int, int]:
    """The level of each component whose events forbid."""
    return {each.index: first + n for n, each in enumerate(node.positives)}

"""Room for the matches that kernels write, which grows with the length of the matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import FULL
from sase.engine.kernels.runs.matches import Listed
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context
from sase.engine.operators.taken_matches import TakenMatches

# Room for events, per match.
EVENTS_A_MATCH = 16
# The least room for matches, if runs learn which of the overlapping matches are taken.
FEWEST = 256


class Written(NamedTuple):
    """The written matches; `listed` has the parts that lengths do not determine."""

    events: Numbers
    ends: Numbers
    lengths: Numbers
    listed: Listed | None


def bindings_of(written: Written) -> Bindings:
    """Return the written matches, which have no listed parts."""
    return Bindings(written.events, written.ends, written.lengths)


# A function that makes bindings of written matches.
Formed: TypeAlias = Callable[[Written], Bindings]


class MatchRoom:
    """The matches that kernels have written, which are taken out when the kernels stop.

    The room has a number of `levels`, and a number of `groups` if parts of matches are listed.
    """

    # The output of kernels: a `MatchBuffer`, or columns.
    written: Any

    def __init__(
        self,
        memory: ResultMemory,
        levels: int,
        matches: int,
        groups: int | None = None,
        events: int = EVENTS_A_MATCH,
    ) -> None:
        self._memory, self._levels, self._groups = memory, levels, groups
        self.sizes = np.zeros(3, np.int64)
        self.resize(matches, matches * events)

    def resize(self, matches: int, events: int) -> None:
        """Make room for numbers of matches and events; the old room must be empty."""
        self.written = MatchBuffer(
            np.empty(events, np.int64),
            np.empty(matches, np.int64),
            np.empty((self._levels, matches), np.int64),
            self.sizes,
        )
        self.listed = None if self._groups is None else self._list(self._groups, matches, events)

    def _list(self, groups: int, matches: int, events: int) -> Listed:
        grouped = events if groups else 0
        return Listed(
            np.empty(events, np.int64),
            np.empty(grouped, np.int64),
            np.empty(matches, np.int64),
            np.empty((groups, matches), np.int64),
            np.empty(grouped, np.int64),
            np.empty(grouped, np.int64),
            np.zeros(1, np.int64),
        )

    @property
    def beside(self) -> Listed:
        """The room for listed parts, which must exist."""
        assert self.listed is not None
        return self.listed

    @property
    def nbytes(self) -> int:
        """The bytes of the events."""
        return int(self.written.events.nbytes)

    def flush(self, why: int, formed: Formed = bindings_of) -> Bindings | None:
        """Take out all matches as bindings; if a single match did not fit, enlarge the room."""
        written = self._take()
        if written is None and why == FULL:
            self.enlarge()
        return None if written is None else formed(written)

    def enlarge(self) -> None:
        """Make room for twice as many events; the old room must be empty."""
        self.resize(len(self.written.ends), 2 * len(self.written.events))

    def _take(self) -> Written | None:
        written, memory = self.written, self._memory
        matches, events, earlier = (int(size) for size in self.sizes)
        if not matches:
            return None
        self.sizes[:] = 0, 0, earlier + matches
        is_full = 2 * matches > len(written.ends)
        if is_full and 2 * events < len(written.events):  # the next matches have the same length
            found, room = written.events[:events], memory.empty(3 * events // 2 + 1)
        else:
            found, room = memory.detach(written.events, events)
        ends, more = memory.detach(written.ends, matches)
        lengths = written.lengths[:, :matches]
        lengths = memory.copy(lengths) if is_full else lengths.copy()
        self.written = written._replace(events=room, ends=more)
        return Written(found, ends, lengths, self._taken(matches, events))

    def _taken(self, matches: int, events: int) -> Listed | None:
        """Take out the listed parts of a number of matches and events."""
        listed, rooms = self.listed, dict[str, Numbers]()
        if listed is None:
            return None
        grouped, used = events if self._groups else 0, int(listed.used[0])
        counts = {"levels": events, "slots": grouped, "closes": matches}
        counts |= {"sizes": used, "branches": used}
        found = {"counts": listed.counts[:, :matches].copy()}
        for name, count in counts.items():
            found[name], rooms[name] = self._memory.detach(getattr(listed, name), count)
        listed.used[0] = 0
        self.listed = listed._replace(**rooms)
        return listed._replace(**found)

    def fit(self, taken: int, most: int) -> None:
        """Fit the full room to the number of its matches that were taken, up to `most` matches."""
        found, events = len(self.written.ends), len(self.written.events)
        size = min(2 * found, most) if 4 * taken >= found else max(found // 2, min(FEWEST, most))
        if size != found:
            self.resize(size, size * events // found)


def fewest(taken: TakenMatches | None, context: Context) -> int:
    """Return the room for matches, which is less if runs learn which matches are taken."""
    chunk = context.options.chunk
    return min(FEWEST, chunk) if taken is not None and taken.are_told else chunk

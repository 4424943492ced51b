"""Room for the matches that kernels write, which grows with how long they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.runs.matches import Listed

# Room for events, by match.
EVENTS_A_MATCH = 16
# The fewest matches that are found before it is told which are taken, of those that overlap.
FEWEST = 256


class Written(NamedTuple):
    """What was written: all of it, but what is `listed` only where lengths do not tell it."""

    events: Numbers
    ends: Numbers
    lengths: Numbers
    listed: Listed | None


class MatchRoom:
    """The matches that kernels have written, which are taken out when they stop.

    Of so many `levels`, and where events are `listed` beside so many `groups`.
    """

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
        """Make room for so many matches and events, while there are none."""
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
        """The room for what is listed, where there is any."""
        assert self.listed is not None
        return self.listed

    @property
    def nbytes(self) -> int:
        """The bytes of the events."""
        return self.written.events.nbytes

    def take(self) -> Written | None:
        """Take out all matches, if there are any."""
        written, memory = self.written, self._memory
        matches, events, earlier = (int(size) for size in self.sizes)
        if not matches:
            return None
        self.sizes[:] = 0, 0, earlier + matches
        is_full = 2 * matches > len(written.ends)
        if is_full and 2 * events < len(written.events):  # the next ones are as long
            found, room = written.events[:events], memory.empty(3 * events // 2 + 1)
        else:
            found, room = memory.detach(written.events, events)
        ends, more = memory.detach(written.ends, matches)
        lengths = written.lengths[:, :matches]
        lengths = memory.copy(lengths) if is_full else lengths.copy()
        self.written = written._replace(events=room, ends=more)
        return Written(found, ends, lengths, self._taken(matches, events))

    def _taken(self, matches: int, events: int) -> Listed | None:
        """What was listed of so many matches and events."""
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

    def double(self) -> None:
        """Make room for a match that did not fit, while there are none."""
        self.resize(len(self.written.ends), 2 * len(self.written.events))

    def fit(self, taken: int, most: int) -> None:
        """Fit the room, which was full, to how many of its matches were taken; it has `most`."""
        found, events = len(self.written.ends), len(self.written.events)
        size = min(2 * found, most) if 4 * taken >= found else max(found // 2, min(FEWEST, most))
        if size != found:
            self.resize(size, size * events // found)

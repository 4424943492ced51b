"""The progress of a stream, and whether it can continue."""

from __future__ import annotations

from dataclasses import dataclass, field

from sase.engine.results.row_history import RowHistory
from sase.errors import SaseError

BEGINNING, END = -(2**63), 2**63 - 1


@dataclass
class StreamState:
    """The progress of a stream, and the input that results may still show.

    `last` is the order key of the last event. No later result has an event before the position
    `oldest`. State was last evicted at the position `evicted`.
    """

    watermark: int = BEGINNING
    last: tuple[int, ...] | None = None
    oldest: int = 0
    evicted: int = 0
    history: RowHistory = field(default_factory=RowHistory)
    is_finished: bool = False
    # Whether matches of the last push are not read yet.
    is_undelivered: bool = False
    # The exception that interrupted a call.
    ended_by: str | None = None

    def check_open(self) -> None:
        """Refuse to continue after the end, or after an interrupted call."""
        if self.ended_by is not None:
            self.check_whole()
        if self.is_finished:
            raise SaseError("this matcher is finished: open another one with  plan.open()")

    def check_whole(self) -> None:
        """Refuse a state that an interrupted call has left."""
        if self.ended_by is not None:
            raise SaseError(
                f"this matcher was ended by a {self.ended_by} in the midst of a call, and knows"
                " only half of its events: go on from its last snapshot with  plan.restore(…)  , or"
                " open another one with  plan.open()"
            )

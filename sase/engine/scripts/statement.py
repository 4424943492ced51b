"""A running statement of a script: the matcher of its plan, fed by its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sase.engine.columns import Inputs
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.stream_state import END
from sase.engine.pipeline.timers import due
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.scripts.asking import Asking
from sase.engine.scripts.joint_matching import JointMatching
from sase.engine.scripts.plan import StatementPlan
from sase.engine.scripts.rows import Fed, Piece, composite_events, together
from sase.engine.scripts.shared_reading import Dealt
from sase.engine.scripts.stream_merge import StreamMerge


class RunningStatement:
    """Finds the matches of a statement in its sources, alone or with a `joint` matching.

    With `is_told` it is called at every passing of time: it, or a statement with the same matching,
    has readers that need its floor.
    """

    def __init__(
        self, plan: StatementPlan, matcher: Matcher, joint: JointMatching | None = None
    ) -> None:
        self.plan, self.matcher, self.joint = plan, matcher, joint
        # The similar statements that it could not join when it was added, and why.
        self.apart = ""
        self.is_told = plan.composite is not None
        self.merge = StreamMerge(plan) if len(plan.streams) > 1 else None
        # Its next timer while it gets no events, END for none.
        self._due: int | None = None
        # The rows that it read, if they are kept for an explanation.
        self.taken: list[Piece] | None = None
        # Whether its readers have the columns of its matches.
        self._is_known = False

    def take(self, fed: Mapping[str | None, Fed]) -> Matches:
        """The matches that new rows of its streams, or the passing of time, complete."""
        own = fed[self.plan.streams[0].name] if self.merge is None else self.merge.take(fed)
        if self.taken is not None:
            self.taken += own.pieces
        floor = None if own.floor == END else own.floor
        found = self._found(lambda matcher: matcher.take(own.pieces, floor))
        assert found is not None, "the taken matches are always reported"
        return found

    def _found(self, find: Callable[[Matcher], Matches | None]) -> Matches | None:
        """Run the matcher, or read the matches of a joint matching."""
        if self.joint is None:
            return find(self.matcher)
        return self.joint.told(self.plan.name, find)

    def report(self) -> Report:
        """The report of all that was searched so far."""
        joint, name = self.joint, self.plan.name
        found = self.matcher.report() if joint is None else joint.report(name)
        note = f"matched apart from {self.apart}" if self.apart else ""
        note = note if joint is None else joint.note(name) or note
        return replace(found, notes=(*found.notes, f"added later: {note}")) if note else found

    def go_on(self, matcher: Matcher, joint: JointMatching | None) -> None:
        """Find its matches by another matcher from now on, alone or by a joint matching."""
        self.matcher, self.joint, self._due = matcher, joint, None

    @property
    def reader(self) -> str:
        """The name under which it gets events: that of the first statement of its matching."""
        return self.plan.name if self.joint is None else self.joint.first

    @property
    def asking(self) -> Asking:
        """The conditions on single events of its matching."""
        return Asking.of(self.plan.plan) if self.joint is None else self.joint.asking

    def read(self) -> Inputs:
        """All rows that it read, as one table."""
        return together([piece.inputs for piece in self.taken or ()])

    @property
    def is_over(self) -> bool:
        """Whether its sources have ended."""
        is_finished = self.matcher.pipeline.state.is_finished
        return is_finished and not (self.joint is not None and self.joint.waits(self.plan.name))

    def take_shared(self, dealt: Dealt, floor: int) -> Matches | None:
        """The matches that rows loaded for several statements complete: those that concern it.

        None if no match is possible: no row concerns it, and no timer is due until `floor`.
        """
        return self._found(lambda matcher: self._find_shared(matcher, dealt, floor))

    def _find_shared(self, matcher: Matcher, dealt: Dealt, floor: int) -> Matches | None:
        pipeline, shared = matcher.pipeline, dealt.parts[self.reader]
        dealt.note_types(pipeline.warnings)
        if not shared and floor != END and not self.is_told:
            if self._due is None:
                known = due(pipeline)
                self._due = END if known is None else known
            if floor < self._due:
                pipeline.reorder_buffer.arrived += len(dealt)
                return None
        self._due = None
        return matcher.take_shared(shared, len(dealt), None if floor == END else floor)

    def due(self) -> int | None:
        """Its next timer, None for none."""
        if self.is_over:
            return None
        held = None if self.merge is None else self.merge.due()
        known = due(self.matcher.pipeline)
        return min((each for each in (held, known) if each is not None), default=None)

    @property
    def floor(self) -> int:
        """The time before which it finds no more matches."""
        pipeline = self.matcher.pipeline
        return END if self.is_over or pipeline.is_done() else pipeline.state.watermark

    def told(self, matches: Matches) -> Fed:
        """Matches as events for its readers."""
        composite = self.plan.composite
        assert composite is not None, "nobody reads it"
        found = [part for part in matches.parts if len(part)]
        if not self._is_known and not found and self.matcher.pipeline.state.history.pieces:
            found = list(matches.parts[:1])  # an empty piece has the columns
        self._is_known |= bool(found)
        pieces = []
        for part in found:
            assert isinstance(part, MatchBatch), "matches of a push are not made yet"
            pieces.append(Piece(composite_events(part, composite)))
        return Fed(tuple(pieces), self.floor)

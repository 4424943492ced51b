"""A statement of a script that runs: the matcher of its plan, fed by what it reads."""

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
from sase.engine.scripts.composite_events import composite_events, together
from sase.engine.scripts.joint_matching import JointMatching
from sase.engine.scripts.pieces import Fed, Piece
from sase.engine.scripts.plan import StatementPlan
from sase.engine.scripts.shared_reading import Dealt
from sase.engine.scripts.stream_merge import StreamMerge


class RunningStatement:
    """Finds the matches of a statement in what it reads, or has them found by a `joint` matching.

    It is told of all times that pass if it `is_told`, as who is read has to be, or is found with
    such a one.
    """

    def __init__(
        self, plan: StatementPlan, matcher: Matcher, joint: JointMatching | None = None
    ) -> None:
        self.plan, self.matcher, self.joint = plan, matcher, joint
        # From whom it is matched apart, though alike, as it was added later, and why.
        self.apart = ""
        self.is_told = plan.composite is not None
        self.merge = StreamMerge(plan) if len(plan.streams) > 1 else None
        # The first time that it waits for, END for none, as long as it is given nothing.
        self._due: int | None = None
        # What it read, where that is kept: to be explained.
        self.taken: list[Piece] | None = None
        # Whether those who read it know the columns of what it finds.
        self._is_known = False

    def take(self, fed: Mapping[str | None, Fed]) -> Matches:
        """The matches that what came of its streams completes, and the time that has passed."""
        own = fed[self.plan.streams[0].name] if self.merge is None else self.merge.take(fed)
        if self.taken is not None:
            self.taken += own.pieces
        floor = None if own.floor == END else own.floor
        found = self._found(lambda matcher: matcher.take(own.pieces, floor))
        assert found is not None, "what is taken is always told"
        return found

    def _found(self, find: Callable[[Matcher], Matches | None]) -> Matches | None:
        """What is found, if not for this statement alone."""
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
        """Have its matches found by another matcher from now on, or with others by a joint one."""
        self.matcher, self.joint, self._due = matcher, joint, None

    @property
    def reader(self) -> str:
        """The name under which it is given events: of a joint matching that of the first."""
        return self.plan.name if self.joint is None else self.joint.first

    @property
    def asking(self) -> Asking:
        """What is asked of an event, by all that it is matched with."""
        return Asking.of(self.plan.plan) if self.joint is None else self.joint.asking

    def read(self) -> Inputs:
        """All that it read, as one table."""
        return together([piece.inputs for piece in self.taken or ()])

    @property
    def is_over(self) -> bool:
        """Whether nothing it reads is to come any more."""
        is_finished = self.matcher.pipeline.state.is_finished
        return is_finished and not (self.joint is not None and self.joint.waits(self.plan.name))

    def take_shared(self, dealt: Dealt, floor: int) -> Matches | None:
        """The same of rows that were loaded for others, too: those that concern it.

        None where nothing can come of them: none concerns it, and it waits for no time until then.
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
        """The first time that it waits for, None for none."""
        if self.is_over:
            return None
        held = None if self.merge is None else self.merge.due()
        known = due(self.matcher.pipeline)
        return min((each for each in (held, known) if each is not None), default=None)

    @property
    def floor(self) -> int:
        """The time before which it finds nothing any more."""
        pipeline = self.matcher.pipeline
        return END if self.is_over or pipeline.is_done() else pipeline.state.watermark

    def told(self, matches: Matches) -> Fed:
        """Matches as events for those who read them."""
        composite = self.plan.composite
        assert composite is not None, "nobody reads it"
        found = [part for part in matches.parts if len(part)]
        if not self._is_known and not found and self.matcher.pipeline.state.history.pieces:
            found = list(matches.parts[:1])  # an empty piece tells the columns
        self._is_known |= bool(found)
        pieces = []
        for part in found:
            assert isinstance(part, MatchBatch), "matches of a push are not made yet"
            pieces.append(Piece(composite_events(part, composite)))
        return Fed(tuple(pieces), self.floor)

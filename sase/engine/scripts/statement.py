"""A statement of a script that runs: the matcher of its plan, fed by what it reads."""

from __future__ import annotations

from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.stream_state import END
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.scripts.composite_events import composite_events
from sase.engine.scripts.pieces import Fed, Piece
from sase.engine.scripts.plan import StatementPlan


class RunningStatement:
    """Finds the matches of a statement in what it reads."""

    def __init__(self, plan: StatementPlan, matcher: Matcher) -> None:
        self.plan, self.matcher = plan, matcher

    def take(self, fed: Fed) -> Matches:
        """The matches that rows complete, and the time that has passed."""
        return self.matcher.take(fed.pieces, None if fed.floor == END else fed.floor)

    @property
    def floor(self) -> int:
        """The time before which it finds nothing any more."""
        pipeline = self.matcher.pipeline
        is_over = pipeline.state.is_finished or pipeline.is_done()
        return END if is_over else pipeline.state.watermark

    def told(self, matches: Matches) -> Fed:
        """Matches as events for those who read them."""
        composite = self.plan.composite
        assert composite is not None, "nobody reads it"
        found = [part for part in matches.parts if len(part)]
        pieces = []
        for part in found:
            assert isinstance(part, MatchBatch), "matches of a push are not made yet"
            pieces.append(Piece(composite_events(part, composite)))
        return Fed(tuple(pieces), self.floor)

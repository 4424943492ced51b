"""Explaining a query: the events of each component, the funnel, what is left out, near misses."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding import BoundQuery
from sase.binding.bound import Condition
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.why_not.ablation import Ablation, each_left_out, fewest_left_out, longest_of
from sase.diagnostics.why_not.budget import Budget, Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, are_barred, candidates_of
from sase.diagnostics.why_not.event_sample import EventSample, sample_events
from sase.diagnostics.why_not.funnel import funnel_of
from sase.diagnostics.why_not.near_misses import NearMisses, NearMissSearch, table_of
from sase.diagnostics.why_not.query_parts import needing_window, parts_of
from sase.diagnostics.why_not.relaxation import bare
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.sentences import Facts, sentences
from sase.diagnostics.why_not.why_not import WhyNot
from sase.engine.columns.input import Inputs
from sase.engine.plan import EnginePlan
from sase.engine.sources import Files
from sase.planning.recipes import Recipe

PARTLY = (
    "the events are too many to be held, and these are the first of them: choose others with"
    " from and to, in files of their own"
)
ENDED = (
    "the budget ended some of the counting: where it says “at least” there may be more, which more"
    " seconds or a greater number of partial matches show"
)


def explain(
    query: BoundQuery,
    text: str,
    plan: EnginePlan,
    events: Inputs | Files,
    restrictions: Sequence[Condition],
    *,
    recipe: Recipe,
    near: int,
    budget: Budget,
) -> WhyNot:
    """Why a query finds what it finds in the events that satisfy the restrictions."""
    query = bare(query)
    seen = sample_events(plan, query, events, restrictions)
    return _Explanation(query, text, plan, seen, recipe, near, budget).whole()


class _Explanation:
    """A query and events, and the searches that explain the one in the other."""

    def __init__(
        self,
        query: BoundQuery,
        text: str,
        plan: EnginePlan,
        seen: EventSample,
        recipe: Recipe,
        near: int,
        budget: Budget,
    ) -> None:
        self.query, self.plan, self.seen, self.near = query, plan, seen, near
        self.parts = parts_of(query, text)
        self.search = RelaxedSearch(seen.events, plan.schema, recipe, budget)
        self.attributes = Attributes(seen.events, plan.schema, query.components)

    def whole(self) -> WhyNot:
        """All of it; the searches that matter most come first."""
        query, parts, search = self.query, self.parts, self.search
        candidates = candidates_of(query, parts, self.attributes)
        matches = Count(0) if are_barred(candidates) else search.count(query).matches
        left_out, fewest = self._left_out(candidates)
        levels = funnel_of(query, parts, candidates, search)
        misses = self._misses(matches, left_out, candidates)
        facts = Facts(
            matches,
            self.seen.types,
            candidates,
            levels,
            left_out,
            fewest,
            misses,
            needing_window(query),
            longest_of(query, parts, matches, search),
        )
        return WhyNot(
            matches,
            self.seen.rows,
            self.seen.count,
            candidates,
            levels,
            left_out,
            fewest,
            table_of(query, misses, self.seen.history, self.plan.schema, self.near),
            (*sentences(facts), *self._limits()),
            not search.is_cut and self.seen.is_whole,
            self._shown(),
        )

    def _left_out(
        self, candidates: Sequence[ComponentCandidates]
    ) -> tuple[tuple[Ablation, ...], Ablation | None]:
        """What helps; nothing does where a component has no event whatever is left out."""
        if any(not each.events for each in candidates if not each.component.negated):
            return (), None
        left_out = each_left_out(self.query, self.parts, candidates, self.search)
        if len(self.parts) < 2 or any(each.matches.number for each in left_out):
            return left_out, None
        return left_out, fewest_left_out(self.query, self.parts, self.search)

    def _misses(
        self,
        matches: Count,
        left_out: Sequence[Ablation],
        candidates: Sequence[ComponentCandidates],
    ) -> tuple[NearMisses, ...]:
        """Those of each part without which there is more; of strategies of the strictest."""
        if not self.near:
            return ()
        near_misses = NearMissSearch(
            self.query, self.search, self.seen, self.attributes, candidates, self.near
        )
        others = [each for each in left_out if each.instead]
        looser = [each for each in others if each.matches.number > matches.number][:1]
        rest = [each for each in left_out if not each.instead and each.matches.number]
        was_cut = self.search.is_cut
        found = [near_misses.of(each) for each in (*looser, *rest)]
        if self.query.level > 1:
            # Of what is too much to be counted there are near misses all the same.
            self.search.is_cut = was_cut
        return tuple(each for each in found if each.misses)

    def _limits(self) -> list[str]:
        found = [] if self.seen.is_whole else [PARTLY]
        return [*found, ENDED] if self.search.is_cut else found

    def _shown(self) -> tuple[str, ...]:
        schema = self.plan.schema
        names = dict.fromkeys((schema.time, *self.plan.attributes))
        return tuple(name for name in names if name != schema.type)

"""Describe an explanation in sentences: the first problem, and changes that help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sase.base.texts import nearest
from sase.diagnostics.why_not.ablation import Ablation
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, Stopped
from sase.diagnostics.why_not.funnel import FunnelLevel
from sase.diagnostics.why_not.near_misses import NearMisses
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart
from sase.diagnostics.why_not.why_not import WhyNot

# The most types listed for an unknown name.
LISTED = 8
# The object of a sentence about the first component.
NOTHING = "all that it needs"


def sentences(
    why: WhyNot,
    types: Sequence[tuple[str, int]],
    misses: Sequence[NearMisses],
    with_window: str,
    longest: Sequence[tuple[str, int]],
) -> Iterator[str]:
    """Yield the sentences, most important first.

    `types` are all types with event counts. `with_window` names the parts that need the window.
    `longest` has by variable the longest series that occurs, if it is too short.
    """
    yield _result(why.matches)
    if not any(count for _, count in types):
        yield "there are no events to look at"
        return
    for candidates in why.components:
        yield from _of_candidates(candidates, types)
    yield from _of_levels(why.levels)
    yield from _of_sets(why.levels)
    for variable, length in longest:
        events = "1 event" if length == 1 else f"{length:,} events"
        yield f"with all other parts of the query the longest {variable} has {events}"
    for each in misses:
        if each.part.kind in (PartKind.WINDOW, PartKind.CONFIDENCE):
            yield f"the nearest candidate misses {each.part.text} {each.by}"
    yield from _remedies(why, misses, with_window)


def _result(matches: Count) -> str:
    if matches.is_none:
        return "there is no match"
    if not matches.number:
        return "no match was found until the budget ended"
    return f"there {'is' if matches.number == 1 else 'are'} {_matches(matches)}"


def _matches(count: Count) -> str:
    return f"{count} match" if count.number == 1 else f"{count} matches"


# ---------------------------------------------------------------- components


def _of_candidates(
    candidates: ComponentCandidates, types: Sequence[tuple[str, int]]
) -> Iterator[str]:
    is_negative = candidates.component.negated
    for name in candidates.unknown:
        yield f"no event has the type `{name}`{_suggestion(name, types)}" + (
            ": its absence stops nothing" if is_negative else ""
        )
    if not candidates.events or is_negative:
        return
    without_key = [each for each in candidates.stopped if each.by_null]
    if not candidates.passing:
        yield _none_passes(candidates)
    elif not candidates.first:
        yield _none_is_first(candidates)
    elif lacking := [each for each in without_key if each.number == candidates.passing]:
        yield (
            f"{lacking[0].part.text} reads a NULL in all {candidates.passing:,} {candidates.text},"
            " and NULL agrees with nothing"
        )


def _suggestion(name: str, types: Sequence[tuple[str, int]]) -> str:
    """Suggest a similar type, or list all types."""
    present = {known: count for known, count in types if count}
    found = nearest(name, present)
    if found is not None:
        return f"; did you mean `{found}` ({present[found]:,} events)?"
    listed = [f"{known} ({count:,})" for known, count in list(present.items())[:LISTED]]
    more = f" and {len(present) - LISTED} more" if len(present) > LISTED else ""
    return f"; there are {', '.join(listed)}{more}"


def _none_is_first(candidates: ComponentCandidates) -> str:
    what = f"none of the {candidates.passing:,} {candidates.text} can be the first of a series"
    stopped = [each for each in candidates.stopped if each.as_first]
    stops = _alone(stopped, candidates.passing) or _all_of(stopped)
    return f"{what}: none passes {stops}"


def _none_passes(candidates: ComponentCandidates) -> str:
    what = f"none of the {candidates.events:,} {candidates.text} passes"
    if candidates.events == 1:
        what = f"the one {candidates.text} does not pass"
    if alone := _alone(candidates.stopped, candidates.events):
        return f"{what} {alone}"
    return f"{what} {_all_of(candidates.stopped)}, though some pass each of them"


def _alone(stopped: Sequence[Stopped], events: int) -> str:
    """Name the parts that each reject all events."""
    return "; nor ".join(_with_values(each) for each in stopped if each.number == events)


def _all_of(stopped: Sequence[Stopped]) -> str:
    return f"all of {' and '.join(each.part.text for each in stopped)}"


def _with_values(stopped: Stopped) -> str:
    return f"{stopped.part.text}" + (f": {stopped.seen}" if stopped.seen is not None else "")


# ---------------------------------------------------------------- the funnel


def _of_levels(levels: Sequence[FunnelLevel]) -> Iterator[str]:
    for number, level in enumerate(levels):
        is_last = number == len(levels) - 1
        is_optional = not level.candidates.component.minimum
        if is_optional and not (is_last and level.steps):
            continue
        if level.candidates.is_barred:
            return  # said above
        if not level.in_order:
            yield _wrong_order(levels[: number + 1])
            return
        if level.reached.is_none or (is_last and level.steps):
            yield from _stopped(levels[: number + 1])
            return


def _of_sets(levels: Sequence[FunnelLevel]) -> Iterator[str]:
    """Name the missing member of a set, if that stops all matches."""
    for level in levels:
        component = level.candidates.component
        if not (level.reached.is_none and component.minimum):
            continue
        stops = next((step.part.kind for step in level.steps if not step.left.number), None)
        if component.set_of is not None and stops not in (PartKind.NEGATION, PartKind.HAVING):
            members = [each.candidates.component.variable for each in _beside(level, levels)]
            yield f"the SET of {', '.join(members)} lacks {component.variable}"
        return


def _beside(level: FunnelLevel, levels: Sequence[FunnelLevel]) -> list[FunnelLevel]:
    """The level, and those of the other members of its set."""
    number = level.candidates.component.set_of
    return [
        each
        for each in levels
        if each is level or (number is not None and each.candidates.component.set_of == number)
    ]


def _wrong_order(levels: Sequence[FunnelLevel]) -> str:
    beside = _beside(levels[-1], levels)
    *before, level = (
        each
        for each in levels
        if each is levels[-1] or (each.candidates.component.minimum and each not in beside)
    )
    earlier = before[-1].candidates
    least = earlier.component.minimum
    if least > 1 and earlier.passing:
        return (
            f"{earlier.passing:,} {earlier.text} pass, and none of the"
            f" {level.candidates.passing:,} {level.candidates.text} comes after {least:,} of them"
        )
    after = "one of them" if earlier.passing > 1 else "it"
    are = f"are {earlier.passing:,}" if earlier.passing > 1 else "is one"
    return (
        f"there {are} {earlier.text}, and none of the {level.candidates.passing:,}"
        f" {level.candidates.text} comes after {after}"
        + (", with the components before it" if len(before) > 1 else "")
        + ": is the order of the pattern right?"
    )


def _stopped(levels: Sequence[FunnelLevel]) -> Iterator[str]:
    """Name the parts that stopped the events of a level."""
    *before, level = levels
    text = level.candidates.text
    required = [each for each in before if each.candidates.component.minimum]
    beside = [each.candidates.text for each in required if each in _beside(level, levels)]
    earlier = " and ".join(
        each.candidates.text for each in required if each.candidates.text not in beside
    )
    if not level.candidates.component.minimum:
        text = "last events"
    satisfied: list[QueryPart] = []
    left = Count(level.in_order)
    for step in level.steps:
        is_open = not step.left.is_exact and step is not level.steps[-1]
        if step.left == left or is_open:
            satisfied.append(step.part)
            continue
        if not (step.left.is_exact or step.left.number):
            return  # an unfinished count proves nothing
        having = f"{'has' if left.number == 1 else 'have'} {_having(earlier, beside, satisfied)}"
        if not (earlier or beside) and level.candidates.component.maximum != 1:
            having = f"can end a series{_having('', [], satisfied).removeprefix(NOTHING)}"
        yield f"{left} {text} {having}; {_share(left, step.left)} {step.part.text}"
        if not step.left.number:
            return
        left, satisfied = step.left, [*satisfied, step.part]


def _having(earlier: str, beside: Sequence[str], satisfied: Sequence[QueryPart]) -> str:
    of_whole = (PartKind.TEST, PartKind.WINDOW, PartKind.STRATEGY)
    parts = " ".join(part.text for part in satisfied if part.kind in of_whole)
    conditions = [part.text for part in satisfied if part.kind not in of_whole]
    places = [f"{earlier} before"] if earlier else []
    places += [f"{' and '.join(beside)} beside it"] if beside else []
    what = " and ".join(places) or NOTHING
    agreeing = f", with {parts}" if parts else ""
    return what + agreeing + (f" and {' and '.join(conditions)}" if conditions else "")


def _share(before: Count, after: Count) -> str:
    """Say how many events a part rejects; unfinished counts give lower bounds."""
    if after.is_none and before.is_exact:
        is_one = before.number == 1
        return "it is stopped by" if is_one else f"all {before} are stopped by"
    number = before.number - after.number
    if before.is_exact and after.is_exact:
        return f"{number:,} of them {'is' if number == 1 else 'are'} stopped by"
    return f"{after} of them get past"


# ---------------------------------------------------------------- remedies


def _remedies(why: WhyNot, misses: Sequence[NearMisses], with_window: str) -> Iterator[str]:
    found = why.matches
    helping = [
        each for each in why.left_out if found.is_exact and each.matches.number > found.number
    ]
    helping.sort(key=lambda each: -each.matches.number)
    # The greatest gains come first; of the strategies the strictest.
    strategies = [each for each in why.left_out if each.instead and each in helping][:2]
    others = [each for each in helping if not each.instead]
    helping = [*strategies, *others] if why.matches.is_none else helping[:1]
    for each in helping:
        with_it = with_window if each.parts[0].kind is PartKind.WINDOW else ""
        more = _skip_reason(misses) if each in strategies[:1] else ""
        yield f"{_change(each)}{with_it} there would be {_matches(each.matches)}{more}"
    if why.fewest is not None and not helping:
        parts = " and ".join(_named(part) for part in why.fewest.parts)
        yield (
            "leaving out one part does not help: without "
            f"{parts} together there would be {_matches(why.fewest.matches)}"
        )


def _change(left_out: Ablation) -> str:
    (part,) = left_out.parts
    match part.kind:
        case PartKind.STRATEGY:
            return f"under {left_out}"
        case PartKind.LEAST:
            return f"with one event instead of {part.text}"
        case PartKind.MOST:
            return f"with any number instead of {part.text}"
    return f"without {_named(part)}"


def _skip_reason(misses: Sequence[NearMisses]) -> str:
    """Describe the skip that the strategy forbids in the nearest match of another one."""
    for each in misses:
        if each.part.kind is PartKind.STRATEGY:
            return f"; the nearest {'is ' * each.by.startswith('not')}{each.by}"
    return ""


def _named(part: QueryPart) -> str:
    if part.kind is not PartKind.NEGATION:
        return part.text
    what = "group" if part.text.startswith("!(SEQ(") else "component"
    return f"that {what}, {part.text},"

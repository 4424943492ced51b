"""Events that skip till next match must take in groups: of matches that it lacks, of no other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import sase
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.diagnostics.strategies.comparison import SEVERAL, Differences, FoundMatches, runs_of
from sase.engine.sources.discovered import Discovered
from sase.errors import SaseError
from sase.lang.ast import StrategyName
from tests.drawing.examples import Example, example
from tests.seeds import draw_numbers, share, tries

ANY, NEXT = StrategyName.SKIP_TILL_ANY_MATCH, StrategyName.SKIP_TILL_NEXT_MATCH


def found_by(matches: sase.Matches) -> FoundMatches:
    return FoundMatches(ANY, matches, runs_of(matches))


def drawn_under(drawn: Example, strategy: StrategyName) -> Example:
    """A query under a strategy, without RETURN and LIMIT."""
    query = replace(drawn.query, returned="", limit="", strategy=strategy.value)
    return replace(drawn, query=query)


def faults(drawn: Example, seen: Counter[str]) -> list[str]:
    """Matches that are lacking without a reason, and that are there and should not be."""
    loose, strict = (drawn_under(drawn, each) for each in (ANY, NEXT))
    try:
        many, few = (
            found_by(sase.match(each.query.text, each.rows, types=each.keywords["types"]))
            for each in (loose, strict)
        )
    except SaseError:
        return []
    source = Discovered.of(strict.rows, InputOptions(types=strict.keywords["types"]))
    known = compile_query(strict.query.text, source)
    differences = Differences(known.bound, known.unoptimized, source.events, 10_000)
    found = []
    for matches, others, is_lacking in ((many, few, True), (few, few._replace(runs=[]), False)):
        stricter = others._replace(strategy=NEXT)
        told = next(differences.between([stricter, matches]))
        for match in told.matches:
            if match.reasons == (SEVERAL,):
                continue
            seen["lacking" if is_lacking else "there"] += 1
            if bool(match.reasons) is not is_lacking:
                found.append(f"{is_lacking}: {strict} {match} {match.reasons}")
    return found


@pytest.mark.random
@pytest.mark.parametrize("form", ["groups", "groups in branches", "groups beside sets"])
def test_each_match_that_is_lacking_has_a_reason_and_no_other_has_one(form: str) -> None:
    seen = Counter[str]()
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + max(4, share(20))):  # most lack no match
            assert not faults(example(number, form), seen)
        if seen["lacking"] >= 5 and seen["there"] >= 5:
            break


def test_the_first_iteration_may_be_of_any_branch() -> None:
    """A run that waits for a group takes an event that begins any of its branches."""
    rows = [{"type": each, "ts": ts} for ts, each in enumerate("HCB")]
    text = "EVENT SEQ(H h, (SEQ(B a) OR SEQ(C c, D d))+ g[]) WHERE {} WITHIN 9"
    every = found_by(sase.match(text.format("skip_till_any_match"), rows))
    assert not len(sase.match(text.format("skip_till_next_match"), rows))
    source = Discovered.of(rows, InputOptions())
    known = compile_query(text.format("skip_till_next_match"), source)
    differences = Differences(known.bound, known.unoptimized, source.events, 10)
    told = next(differences.between([every._replace(strategy=NEXT, runs=[]), every]))
    assert [each.reasons for each in told.matches] == [
        ("skips row 1, a C that could begin c: skip till next match must take it",)
    ]

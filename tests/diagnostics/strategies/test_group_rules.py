"""What skip till next match must take in groups: of each match that it lacks, and of no other."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

import sase
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.diagnostics.strategies.comparison import GROUPS, SEVERAL, Differences, runs_of
from sase.engine.sources.discovered import Discovered
from sase.errors import SaseError
from sase.lang.ast import StrategyName
from tests.engine.groups import queries
from tests.engine.groups.queries import Drawn
from tests.seeds import draw_numbers, share, tries

ANY, NEXT = StrategyName.SKIP_TILL_ANY_MATCH, StrategyName.SKIP_TILL_NEXT_MATCH
WRITTEN = re.compile(
    "skip_till_any_match|skip_till_next_match|strict_contiguity|partition_contiguity"
)


def drawn_under(number: int, strategy: StrategyName) -> Drawn:
    """A query of a number under a strategy, without RETURN and LIMIT."""
    drawn = queries.draw(number)
    text = re.sub(r" (RETURN|LIMIT) .*", "", drawn.text)
    if WRITTEN.search(text):
        text = WRITTEN.sub(strategy.value, text, count=1)
    elif " WHERE " in text:
        text = re.sub(
            r" WHERE (.*?)( WITHIN| HAVING|$)", rf" WHERE {strategy.value} {{ \1 }}\2", text
        )
    else:
        text = re.sub(r"( WITHIN| HAVING|$)", rf" WHERE {strategy.value}\1", text, count=1)
    return replace(drawn, text=text)


def faults(number: int, seen: Counter[str]) -> list[str]:
    """Matches that are lacking without a reason, and that are there and should not be."""
    loose, strict = (drawn_under(number, each) for each in (ANY, NEXT))
    try:
        many, few = (
            runs_of(sase.match(each.text, each.rows, types=each.types)) for each in (loose, strict)
        )
    except SaseError:
        return []
    source = Discovered.of(strict.rows, InputOptions(types=strict.types))
    known = compile_query(strict.text, source)
    differences = Differences(known.bound, known.unoptimized, source.events, 10_000)
    found = []
    for matches, is_lacking in (
        ([each for each in many if each not in set(few)], True),
        (few, False),
    ):
        told = list(differences.between([(NEXT, []), (ANY, matches)]))[0]
        for match in told.matches:
            if match.reasons in ((GROUPS,), (SEVERAL,)):
                continue
            seen["lacking" if is_lacking else "there"] += 1
            if bool(match.reasons) is not is_lacking:
                found.append(f"{number} {is_lacking}: {strict} {match} {match.reasons}")
    return found


@pytest.mark.random
def test_each_match_that_is_lacking_has_a_reason_and_no_other_has_one() -> None:
    seen = Counter[str]()
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + max(25, share(20))):  # most lack no match
            assert not faults(number, seen)
        if seen["lacking"] >= 5 and seen["there"] >= 5:
            break


def test_the_first_iteration_may_be_of_any_branch() -> None:
    """A run that waits for a group takes what begins any of its branches."""
    rows = [{"type": each, "ts": ts} for ts, each in enumerate("HCB")]
    text = "EVENT SEQ(H h, (SEQ(B a) OR SEQ(C c, D d))+ g[]) WHERE {} WITHIN 9"
    (match,) = runs_of(sase.match(text.format("skip_till_any_match"), rows))
    assert not len(sase.match(text.format("skip_till_next_match"), rows))
    source = Discovered.of(rows, InputOptions())
    known = compile_query(text.format("skip_till_next_match"), source)
    differences = Differences(known.bound, known.unoptimized, source.events, 10)
    (told,) = list(differences.between([(NEXT, []), (ANY, [match])]))[:1]
    assert [each.reasons for each in told.matches] == [
        ("skips row 1, a C that could begin c: skip till next match must take it",)
    ]

"""The automaton of a pattern: the events that it accepts, its builder, and how it is shown."""

from __future__ import annotations

import ast
import re
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest

import sase
from sase.binding import OPEN, bind_text
from sase.planning.automaton.build import automata_of
from sase.planning.automaton.unrolled import ROOT, Unrolled
from tests.seeds import draw_numbers, share

QUANTIFIERS = ("", "", "", "+", "*", "?", "{2}", "{2,}", "{1,3}", "{0,2}")


class Drawn:
    """A pattern with letters as types, and the regular expression of the bound events."""

    def __init__(self, seed: int) -> None:
        self.random, self.names = Random(seed), iter("abcdefghijklmnopqrstuvwxyz")
        parts = [self.component("")]  # so that something must occur
        kinds = (self.optional, self.optional, self.set, self.group)
        parts += [self.random.choice(kinds)() for _ in range(self.random.randrange(3))]
        self.random.shuffle(parts)
        self.query = f"EVENT SEQ({', '.join(query for query, _ in parts)})"
        self.form = "".join(form for _, form in parts)

    def component(self, quantifier: str) -> tuple[str, str]:
        letter, name = self.random.choice("ABC"), next(self.names)
        is_list = quantifier not in ("", "?")
        return f"{letter}{quantifier} {name}{'[]' * is_list}", f"{letter}{quantifier}"

    def optional(self) -> tuple[str, str]:
        return self.component(self.random.choice(QUANTIFIERS))

    def set(self) -> tuple[str, str]:
        """A set of single events and of one series, with events that may lie between the others."""
        members = [self.component("") for _ in range(self.random.choice((1, 2)))]
        orders = {"".join(form) for form in permutations(form for _, form in members)}
        query = ", ".join(query for query, _ in members)
        if self.random.random() < 0.5:
            name, letters = next(self.names), len(members)
            gaps = [
                ["Z+" if n == at else "Z*" for n in range(letters + 1)] for at in range(letters + 1)
            ]
            with_series = "|".join(
                "".join(
                    f"{before}{letter}" for before, letter in zip(gap, f"{order} ", strict=True)
                ).strip()
                for order in orders
                for gap in gaps  # one has an event of the series at least
            )
            return f"SET({query}, Z+ {name}[])", f"(?:{with_series})"
        return f"SET({query})", f"(?:{'|'.join(orders)})"

    def group(self) -> tuple[str, str]:
        """A repeated group with iterations of one or two branches."""
        branches = [
            [self.component(""), *(self.optional() for _ in range(self.random.randrange(2)))]
            for _ in range(self.random.choice((1, 1, 2)))
        ]
        for branch in branches:
            self.random.shuffle(branch)
        queries = (f"SEQ({', '.join(query for query, _ in branch)})" for branch in branches)
        forms = ("".join(form for _, form in branch) for branch in branches)
        quantifier = self.random.choice(("+", "*", "{2}", "{1,2}"))
        query = f"({' OR '.join(queries)}){quantifier} {next(self.names)}[]"
        return query, f"(?:{'|'.join(forms)}){quantifier}"


def accepted(unrolled: Unrolled, longest: int) -> set[str]:
    """The events of its paths, up to a number."""
    found, layer = set(), {("", ROOT)}
    for _ in range(longest):
        layer = {
            (text + unrolled.automaton.states[step.state].component.types[0], step.target)
            for text, at in layer
            for step in unrolled.steps(at)
        }
        found |= {text for text, at in layer if unrolled.closes(at)}
    return found


@pytest.mark.random
@pytest.mark.parametrize("seeds", [draw_numbers(share(40))], ids=["drawn"])
def test_it_accepts_what_the_regular_expression_of_the_pattern_does(seeds):
    longest = 5
    texts = ["".join(each) for n in range(1, longest + 1) for each in product("ABCZ", repeat=n)]
    for seed in seeds:
        drawn = Drawn(seed)
        (automaton,) = automata_of(bind_text(drawn.query, OPEN))
        form = re.compile(drawn.form)
        expected = {text for text in texts if form.fullmatch(text)}
        assert accepted(Unrolled(automaton), longest) == expected, (seed, drawn.query, drawn.form)


def test_one_module_builds_it():
    builders = ("PatternAutomaton", "Edge")
    callers = {
        path.name
        for path in Path(sase.__file__).parent.rglob("*.py")
        if any(f"{name}(" in (text := path.read_text()) for name in builders)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in builders
    }
    assert callers == {"build.py"}


QUERY = (
    "EVENT SEQ(A a, !(X x), (SEQ(B b, C c))+ g[], D d)"
    " WHERE skip_till_next_match { [k] AND b.p < g[i-1].b.p AND g.len >= 2 } WITHIN 10"
)


def test_explain_shows_states_and_edges():
    assert sase.explain(QUERY).to_automaton().splitlines() == [
        "automaton, skip_till_next_match: a run may ignore an event that it does not wait for",
        "    a: A",
        "    g.b: B",
        "    g.c: C",
        "    d: D",
        "    g: 2 or more iterations",
        "    START -> a  begin, waits when full",
        "    a -> g.b    begin, begins an iteration, waits when full",
        "    g.b -> g.c  begin, waits when full",
        "    g.c -> g.b  begin, begins an iteration, waits always     b.p < g[i-1].b.p",
        "    g.c -> d    begin, waits when full                       2 or more iterations of g",
        "    d -> END    match",
    ]


def test_the_document_and_the_graph_have_the_same_edges():
    explanation = sase.explain("EVENT SEQ(A a, B+ b[]) OR A c WHERE b[i].v > a.v")
    first, second = explanation.to_dict()["automata"]
    assert [state["name"] for state in first["states"]] == ["a", "b"]
    assert second["edges"] == [
        {"source": 0, "target": None, "bind": None, "waits": "when full",
         "begins_iteration": False, "asks": []},
        {"source": None, "target": 0, "bind": "begin", "waits": "when full",
         "begins_iteration": False, "asks": []},
    ]  # fmt: skip
    graph = explanation.to_automaton_dot()
    assert graph.count(" -> ") == len(first["edges"]) + len(second["edges"])
    assert 's0_1 -> s0_1 [label="take\\nb[i].v > a.v"]' in graph

"""The automata of a query as text, plain data, and a Graphviz graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sase.binding.bound import BoundQuery, When
from sase.binding.values.text import Names, condition_text
from sase.planning.automaton.automaton import (
    END,
    START,
    At,
    Bind,
    CountRange,
    Edge,
    Ignore,
    Moment,
    PatternAutomaton,
)
from sase.planning.automaton.build import automata_of
from sase.planning.explain.runs import admitted
from sase.printable import printable

ANY_NUMBER = CountRange(0, None)
_ITERATIONS = {
    When.EVERY: "",
    When.FIRST: "in the first iteration: ",
    When.FURTHER: "in each iteration but the first: ",
}


@dataclass(frozen=True, slots=True)
class ExplainedAutomaton:
    """The automaton of a branch, with the names of its variables."""

    automaton: PatternAutomaton
    strategy: str
    names: Names

    def name_of(self, state: int) -> str:
        """The name of a state: its variable, after the group's."""
        if state in (START, END):
            return "START" if state == START else "END"
        own = self.automaton.states[state]
        group = self.automaton.elements[own.element].group
        if group is None:
            return own.component.variable
        branches = len(self.automaton.groups[group].branches)
        of = f" (branch {own.branch + 1})" if branches > 1 else ""
        return f"{self.group_name(group)}.{own.component.variable}{of}"

    def group_name(self, group: int) -> str:
        """A group by its variable."""
        return self.automaton.groups[group].variable

    def asks(self, edge: Edge) -> Iterator[str]:
        """The conditions for a run to follow an edge, and for the event that it binds."""
        if edge.iterations is not None and edge.iterations[1] != ANY_NUMBER:
            group, count = edge.iterations
            yield f"{_counted(count)} iterations of {self.group_name(group)}"
        at = At.TAKE if edge.bind is Bind.TAKE else At.BEGIN
        bound = [] if edge.target == END else [Moment(at, edge.target)]
        # Whether the iteration that begins with the edge is the first one.
        exempt = When.FIRST if self.automaton.repeats(edge) else When.FURTHER
        for moment in (*edge.finished, *edge.passed, *bound):
            is_begun = edge.begins and moment not in edge.finished
            for check in self.automaton.checks:
                if check.moment == moment and not (is_begun and check.iterations is exempt):
                    prefix = "" if is_begun else _ITERATIONS[check.iterations]
                    yield prefix + condition_text(check.condition, self.names)


def explained_automata(query: BoundQuery) -> tuple[ExplainedAutomaton, ...]:
    """The automata of a query's branches."""
    names = {each.index: each.variable for each in query.every}
    return tuple(
        ExplainedAutomaton(automaton, branch.strategy.value, names)
        for automaton, branch in zip(automata_of(query), query.branches or (query,), strict=True)
    )


# ---------------------------------------------------------------- text


def automata_text(automata: Sequence[ExplainedAutomaton]) -> str:
    """The states and edges of each branch."""
    lines = list[str]()
    for number, each in enumerate(automata, 1):
        of = f" of branch {number} of {len(automata)}" if len(automata) > 1 else ""
        lines += [f"automaton{of}, {each.strategy}: a run may ignore {each.automaton.ignore.value}"]
        lines += [f"    {line}" for line in _lines(each)]
    return "\n".join(lines)


def _lines(own: ExplainedAutomaton) -> Iterator[str]:
    for state in own.automaton.states:
        yield f"{own.name_of(state.number)}: {admitted(state.component).partition(': ')[2]}"
    for group in range(len(own.automaton.groups)):
        count = own.automaton.groups[group].iterations
        yield f"{own.group_name(group)}: {_counted(count)} iterations"
    edges = [
        (f"{own.name_of(e.source)} -> {own.name_of(e.target)}", _move(own, e), [*own.asks(e)])
        for e in (
            *own.automaton.after(START),
            *own.automaton.edges[: -len(own.automaton.after(START))],
        )
    ]
    widths = [max(len(edge[column]) for edge in edges) for column in (0, 1)]
    for name, move, asks in edges:
        line = f"{name:{widths[0]}}  {move:{widths[1]}}"
        yield f"{line}  {' AND '.join(asks)}".rstrip()


def _move(own: ExplainedAutomaton, edge: Edge) -> str:
    """The action of an edge, and whether a run waits for it."""
    if edge.target == END:
        return "match"
    begins = ", begins an iteration" if edge.begins else ""
    waits = f", waits {edge.waits.value}" if own.automaton.ignore is Ignore.UNLESS_WAITED else ""
    return f"{edge.bind.value}{begins}{waits}"


def _counted(count: CountRange) -> str:
    least, most = count
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


# ---------------------------------------------------------------- other forms


def automaton_document(own: ExplainedAutomaton) -> dict[str, Any]:
    """An automaton as plain data of JSON; docs/explain.md describes its members."""
    automaton = own.automaton
    return {
        "strategy": own.strategy,
        "ignores": automaton.ignore.value,
        "states": [
            {
                "name": own.name_of(state.number),
                "types": None if state.component.types is None else list(state.component.types),
                "least": state.count.least,
                "most": state.count.most,
                "element": state.element,
            }
            for state in automaton.states
        ],
        "groups": [
            {
                "name": own.group_name(number),
                "element": group.element,
                "least": group.iterations.least,
                "most": group.iterations.most,
            }
            for number, group in enumerate(automaton.groups)
        ],
        "edges": [
            {
                "source": None if edge.source == START else edge.source,
                "target": None if edge.target == END else edge.target,
                "bind": None if edge.target == END else edge.bind.value,
                "waits": edge.waits.value,
                "begins_iteration": edge.begins,
                "asks": list(own.asks(edge)),
            }
            for edge in automaton.edges
        ],
    }


def automata_dot(automata: Sequence[ExplainedAutomaton]) -> str:
    """A graph with states as circles, and the conditions of each edge as its label."""
    lines = ["digraph automaton {", "  rankdir=LR", '  node [shape=circle, fontname="sans"]']
    for number, each in enumerate(automata):
        names = {START: f"start{number}", END: f"end{number}"}
        names |= {state.number: f"s{number}_{state.number}" for state in each.automaton.states}
        lines += [
            f'  {names[START]} [label="START", shape=plaintext]',
            f'  {names[END]} [label="END", shape=doublecircle]',
        ]
        for state in each.automaton.states:
            lines.append(f'  {names[state.number]} [label="{escaped(each.name_of(state.number))}"]')
        for edge in each.automaton.edges:
            label = "\\n".join(map(escaped, (_move(each, edge), *each.asks(edge))))
            lines.append(f'  {names[edge.source]} -> {names[edge.target]} [label="{label}"]')
    return "\n".join([*lines, "}"])


def escaped(text: str) -> str:
    """A text as a Graphviz label."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')

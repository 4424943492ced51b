"""Random queries of every form of pattern, on a stream of a given setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from tests.drawing import forms_of_patterns as patterns
from tests.drawing.conditions import Writer
from tests.drawing.draw import Draw
from tests.drawing.forms_of_patterns import ANY, NEXT
from tests.drawing.patterns import (
    Choice,
    Node,
    Part,
    Steps,
    Written,
    branches,
    edge,
    leaves,
    merged,
    nodes,
    sequence,
    steps,
    written,
)
from tests.drawing.streams import FLOAT, INTEGER, STRING, Setting

STRICT, PARTITION, GREEDY = "strict_contiguity", "partition_contiguity", "earliest_maximal"


class Form(NamedTuple):
    """The choices for queries of a form: the frequent ones several times, others in percent."""

    pattern: Callable[[Draw, Setting, str], Node]
    strategies: Sequence[str]
    conditions: Sequence[int]  # how many
    having: int
    returned: int
    limit: int
    equalities: int = 0  # which join components, so that they may amount to an equivalence test
    turns: int = 0  # of queries under contiguity those of series that turn


FORMS = {
    "sequences": Form(patterns.sequences, [""], [0, 1, 1, 1, 2, 2, 3], 0, 25, 10, 25),
    "series": Form(
        patterns.series, [ANY, NEXT, STRICT, PARTITION, "", NEXT], [1, 1, 2, 0, 2, 3],
        30, 45, 15, 10, 50,
    ),
    "choices": Form(
        patterns.choices, ["", ANY, NEXT, "", STRICT, PARTITION, NEXT], [1, 2, 0, 1, 3], 25, 35, 12
    ),
    "shared choices": Form(patterns.shared, [""], [0, 0, 0, 1], 10, 20, 8),
    "sets": Form(
        patterns.sets, ["", ANY, NEXT, GREEDY, GREEDY, STRICT, PARTITION, NEXT], [1, 2, 0, 1, 3],
        20, 25, 10,
    ),
    "single sets": Form(
        patterns.single_sets, [GREEDY, GREEDY, NEXT], [0, 0, 1, 1, 2], 10, 15, 10
    ),
    "joined sets": Form(patterns.joined_sets, ["", ANY], [0, 0, 1, 1, 2], 10, 15, 10),
    "negative groups": Form(
        patterns.negative_groups, ["", "", ANY, NEXT, STRICT, PARTITION], [0, 1, 1, 1, 2, 3],
        10, 15, 8,
    ),
}  # fmt: skip
# Of sets some queries have none, and are greedy.
GREEDY_ONES = ("sets",) * 8 + ("series", "choices")


@dataclass(frozen=True)
class Query:
    """A query by its clauses, so that one of them can be left out."""

    tree: Node
    strategy: str = ""  # none is written
    listed: str = ""  # the variables that it is written with
    tests: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    window: str = ""
    confidence: str = ""  # of imprecise time: a sign and a number
    having: str = ""
    returned: str = ""
    limit: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tests_first: bool = False

    @classmethod
    def of(cls, parts: Sequence[Part], **clauses: Any) -> Query:
        """A query for a sequence."""
        return cls(sequence(parts), **clauses)

    def with_parts(self, parts: Sequence[Part]) -> Query:
        """The query for another sequence."""
        return replace(self, tree=sequence(parts))

    @property
    def text(self) -> str:
        clauses = [
            f"EVENT {written(self.tree)}", f"WHERE {self._where}" if self._where else "",
            f"WITHIN {self.window}" if self.window else "",
            f"WITH CONFIDENCE {self.confidence}" if self.confidence else "",
            f"HAVING {self.having}" if self.having else "", self.returned, self.limit,
        ]  # fmt: skip
        return " ".join(filter(None, clauses))

    @property
    def _where(self) -> str:
        parts = self.tests + self.conditions if self.tests_first else self.conditions + self.tests
        conditions = " AND ".join(parts)
        if not self.strategy:
            return conditions
        return f"{self.strategy}{self.listed} {{ {conditions} }}" if parts else self.strategy

    @property
    def components(self) -> tuple[Part, ...]:
        """A component for each variable."""
        return merged(leaves(self.tree))

    @property
    def positives(self) -> list[Part]:
        return [part for part in self.components if not part.negated]

    @property
    def ways(self) -> list[Steps]:
        """The branches in steps."""
        return steps(self.tree)

    @property
    def negated_start(self) -> bool:
        return all(edge(way) == "each" for way in branches(self.tree))

    @property
    def negated_end(self) -> str:
        """Whether a match of "each" branch waits for time to pass, or "some" do, or none.

        It waits for an absence, or under earliest_maximal since it could grow.
        """
        if isinstance(self.tree, Written):
            return "some"
        if self.strategy == GREEDY:
            waits = {_waits(way) for way in self.ways}
            is_of_time = bool(self.window) and "EVENTS" not in self.window
            return "each" if waits == {"each"} and is_of_time else "some" if any(waits) else ""
        waits = {edge(way[::-1]) for way in branches(self.tree)}
        return "each" if waits == {"each"} else "some" if any(waits) else ""

    @property
    def is_plain(self) -> bool:
        """Whether it is of single events one after the other, and of every match."""
        has_choice = any(each.kind != "seq" for each, _ in nodes(self.tree))
        return not (self.strategy or has_choice or any(p.quantifier for p in self.components))

    @property
    def is_inclusive(self) -> bool:
        return self.window.endswith("INCLUSIVE")

    def without_negation(self) -> Query:
        """The components that bind events, and the conditions on them alone."""
        gone = [f"{c.variable}." for c in self.components if c.negated and c.variable]
        kept = [text for text in self.conditions if not any(name in text for name in gone)]
        return replace(self.with_parts(self.positives), conditions=tuple(kept))


def _waits(way: Steps) -> str:
    """Whether each match of a branch waits, for an absence or since it could grow, or some do."""
    absent = edge([part for step in way for part in step][::-1])
    last = [step for step in way if not step[0].negated][-1]
    if absent == "each" or any(part.most is None for part in last):
        return "each"
    return "some" if absent or any(part.most != part.least for part in last) else ""


def drawn_query(draw: Draw, setting: Setting, name: str) -> Query:
    """A query of the form of a name."""
    own = draw.choice(GREEDY_ONES) if name == "sets" else name
    form = FORMS[own]
    strategy = draw.choice(form.strategies)
    does_turn = strategy in (STRICT, PARTITION) and draw.chance(form.turns)
    tree = patterns.turning(draw, setting) if does_turn else form.pattern(draw, setting, strategy)
    writer = Writer(draw, setting, tree)
    tests = equivalence_tests(writer)
    if strategy == PARTITION and not tests:
        tests = some_test(writer)
        strategy = strategy if tests else STRICT
    conditions = tuple(writer.turns()) if does_turn else ()
    conditions += writer.equalities() if draw.chance(form.equalities) else ()
    count = draw.choice([0, 0, 0, 1] if does_turn else form.conditions)
    conditions += tuple(writer.conjunct() for _ in range(count))
    at_start, at_end = (any(edge(way[::step]) for way in branches(tree)) for step in (1, -1))
    window = within(writer, bool(tests), at_start, at_end)
    having = writer.having() if draw.chance(form.having) else ""
    returned = writer.returned() if draw.chance(form.returned) else ""
    most = draw.one_of(2, 1, 3, 5, 0)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if draw.chance(form.limit) else ""
    query = Query(
        tree, strategy, listed(writer) if strategy else "", tests, conditions, window,
        "", having, returned, limit, writer.parameters, draw.chance(50),
    )  # fmt: skip
    return query if own == name else _greedy(query)


def _greedy(query: Query) -> Query:
    tree = query.tree if isinstance(query.tree, Choice) else Choice("seq", (query.tree,))
    made = replace(query, tree=tree, strategy=GREEDY)
    return made if made.tests or made.conditions else replace(made, listed="")


# ---------------------------------------------------------------- strategies


def some_test(writer: Writer) -> tuple[str, ...]:
    """A test on an attribute that some type of the pattern declares."""
    declared = writer.setting.declared
    known = {name for part in writer.components for kind in part.types for name in declared[kind]}
    names = sorted(known & {"id", "k"})
    return (f"[{writer.one_of(*names)}]",) if names else ()


def listed(writer: Writer) -> str:
    """The variables of the strategy, which are written only where there are conditions."""
    named = [part for part in writer.components if part.variable and not part.negated]
    if not named or not writer.chance(40):
        return ""
    brackets = ["[]" if part.quantifier and writer.chance(50) else "" for part in named]
    return f"({', '.join(f'{p.variable}{b}' for p, b in zip(named, brackets, strict=True))})"


# ---------------------------------------------------------------- equivalence tests


def equivalence_tests(writer: Writer) -> tuple[str, ...]:
    setting = writer.setting
    known = {
        attribute: setting.kind(name, attribute)
        for component in writer.components
        for name in component.types
        for attribute in setting.declared[name]
    }
    keys = [attribute for attribute in ("id", "id", "id", "k", "s") if attribute in known]
    if not keys or writer.chance(35):
        return ()
    first = writer.one_of(*keys)
    match writer.draw.randrange(10):
        case 7:
            kind = {INTEGER: INTEGER, FLOAT: FLOAT, STRING: STRING}[known[first]]
            text, value = ("'x'", "x") if kind == STRING else writer.one_of(("1", 1), ("1.0", 1.0))
            return (f"[{first} = {writer.parameter(text, value)}]",)
        case 8:
            return tuple(f"[{name}]" for name in dict.fromkeys([first, *keys[-1:]]))
        case 9:
            return (f"[{', '.join(dict.fromkeys([first, *keys[-2:]]))}]",)
        case _:
            return (f"[{first}]",)


# ---------------------------------------------------------------- WITHIN


def within(writer: Writer, has_tests: bool, at_start: bool, at_end: bool) -> str:
    """A window for a pattern that may have an absence at the start or the end."""
    kinds = ["time"] * 5
    if not at_end:
        kinds += ["events"] * 2 + ["partition"] * (2 if has_tests else 0)
    if not (at_start or at_end):
        kinds += ["none"] * 3
    wanted = sum(not component.negated for component in writer.components)
    match writer.one_of(*kinds):
        case "none":
            return ""
        case "time":
            window = _length(writer)
        case "events":
            window = f"{_number(writer, writer.one_of(1, 2, 3, 5, 7, 9) + wanted)} EVENTS"
        case _:
            window = f"{_number(writer, writer.one_of(0, 1, 2, 4) + wanted)} EVENTS PER PARTITION"
    return f"{window} INCLUSIVE" if writer.chance(25) else window


def _number(writer: Writer, number: int) -> str:
    return writer.parameter(str(number), number)


def _length(writer: Writer) -> str:
    """A window in time of some ticks."""
    clock, ticks = writer.setting.clock, writer.one_of(3, 2, 1, 4, 5, 6, 8, 10, 20)
    ticks += sum(not component.negated for component in writer.components)
    counts = pa.types.is_integer(clock.arrow)
    raw = _number(writer, ticks * clock.raw) if counts else ""
    if clock.unit is None:
        return writer.one_of(raw, raw, f"{ticks * clock.raw - 1}.5")
    whole = f"{_number(writer, ticks)} {clock.unit}"
    parts = {
        "s": (1000, "ms"), "seconds": (1000, "millis"), "minutes": (60, "seconds"),
        "min": (60, "s"), "m": (60, "sec"), "days": (24, "hours"),
    }  # fmt: skip
    times, finer = parts[clock.unit]
    return writer.one_of(
        whole,
        whole,
        raw or whole,
        f"{ticks * times} {finer}",
        f"{ticks * times - times // 2} {finer}",
    )

"""A query with a stream that is small enough for the naive matcher, which finds its matches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from sase.binding import bind_text
from sase.binding.bound import BoundQuery
from sase.binding.input_options import InputOptions
from sase.engine.sources.discovered import Discovered
from sase.errors import QueryError
from sase.lang.parser import parse_query
from tests import naive
from tests.drawing.draw import Draw
from tests.drawing.forms_of_patterns import ANY, NEXT
from tests.drawing.imprecise import FEW, MANY, ONE, drawn_imprecise
from tests.drawing.patterns import Part, Steps, Written, steps
from tests.drawing.queries import PARTITION, STRICT, Query, drawn_query
from tests.drawing.repeated_groups import APART, drawn_groups
from tests.drawing.repeated_groups import FORMS as GROUPS
from tests.drawing.streams import (
    DEFINED,
    FLOAT,
    INTEGER,
    NAMES,
    TABLES,
    Row,
    Setting,
    drawn_setting,
    stream,
)

# The naive matcher tries every tuple of single events: how many, by the number of components.
MOST_SINGLE = {1: 25, 2: 20, 3: 15, 4: 13}
MOST_EVENTS = {"series": 14, "sets": 11, "joined sets": 11, "single sets": 24}
# How many runs the naive matcher may look at, summed over the events.
MOST_RUNS = 3000
FEW_RUNS = {"sets": 2500, "joined sets": 2500, "single sets": 10**5}
# The sums of these values depend on the order of the additions.
INEXACT = {2.0: 0.1, 2.5: 0.7, 0.5: 0.3}
# Of a run: the number of its step, and how many events each component of that has bound.
Place = tuple[int, tuple[int, ...]]


# The judge of the matches of imprecise time.
JUDGES: dict[str, Any] = {FEW: "naive", MANY: "another way", ONE: "one column"}
# A confidence that is so near to the threshold may be on either side of it.
NEAR = 1e-9


@dataclass(frozen=True)
class Example:
    """A query, a stream, the output, and the judge of the matches."""

    query: Query
    setting: Setting
    rows: list[Row]
    output: Literal["all", "non_overlap"] = "all"
    judge: Literal["naive", "another way", "one column"] = "naive"

    def __repr__(self) -> str:
        rows = "".join(f"\n    {row}," for row in self.rows)
        by_type = {
            name: {a: str(kind) for a, kind in kinds.items()}
            for name, kinds in self.setting.by_type.items()
        }
        columns = {name: str(kind) for name, kind in self.setting.columns.items()}
        return (
            f"\n  {self.query.text}\n  keywords: {self.keywords}\n  layout: {self.setting.layout}"
            f" {by_type or columns}, time {self.setting.clock.arrow}\n  rows: [{rows}\n  ]"
            f"\n  output: {self.output}"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """As Hypothesis shall show it."""
        printer.text(repr(self))

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments for the engine."""
        return {**self.setting.keywords, "params": dict(self.query.parameters) or None}

    @property
    def given_keywords(self) -> dict[str, Any]:
        """The same without the keywords that tables of each type make needless."""
        left_out = ("type", "types") if self.setting.layout == TABLES else ()
        return {name: each for name, each in self.keywords.items() if name not in left_out}

    @property
    def naive_keywords(self) -> dict[str, Any]:
        """The keyword arguments for `naive`."""
        keywords = self.keywords
        if self.setting.layout == TABLES:
            keywords["types"] = {name: [*each] for name, each in self.setting.declared.items()}
        return keywords

    @cached_property
    def expected(self) -> list[naive.Match]:
        parsed = parse_query(self.query.text)
        return naive.match(parsed, self.rows, **self.naive_keywords, output=self.output)

    @property
    def bound(self) -> BoundQuery:
        """The query, bound to the columns of its table; raises QueryError."""
        keywords = dict(self.keywords)
        params = keywords.pop("params")
        if self.setting.layout == TABLES:
            keywords |= {"type": "type", "types": None}
        schema = Discovered.of(self.table, InputOptions(**keywords)).schema
        return bind_text(self.query.text, schema, parameters=params or {})

    @property
    def is_judged(self) -> bool:
        """Whether the naive matcher judges, and not another way to run it."""
        return self.judge == "naive"

    @cached_property
    def is_refused(self) -> bool:
        """Whether the query is an error."""
        try:
            assert self.bound
        except QueryError:
            return True
        return isinstance(self.query.tree, Written) and not self._can_be_judged

    @property
    def _can_be_judged(self) -> bool:
        """Whether the naive matcher takes the query."""
        try:
            return not self.is_judged or self.expected is not None
        except (NotImplementedError, ValueError, OverflowError):
            return False

    @cached_property
    def doubtful(self) -> int:
        """The number of matches that the threshold may keep or not."""
        if not self.query.confidence:
            return 0
        every = replace(self, query=replace(self.query, confidence="")).expected
        return sum(self.is_doubtful(each.confidence) for each in every)

    def is_doubtful(self, confidence: Any) -> bool:
        """Whether a confidence may be on either side of the threshold."""
        least = self.query.confidence.split()[1:]
        return bool(least) and abs(float(confidence or 0) - float(least[0])) < NEAR

    @property
    def sorted(self) -> Example:
        """With the rows in the order of the stream."""
        rows = sorted(self.rows, key=self.setting.key)
        return self if rows == self.rows else replace(self, rows=rows)

    @property
    def table(self) -> Any:
        """The rows as an Arrow table, or a table for each type."""
        if self.setting.layout != TABLES:
            return pa.Table.from_pylist(self.rows, schema=self.setting.schema())
        return {name: self._table_of(name) for name in self.setting.declared}

    def _table_of(self, name: str) -> pa.Table:
        setting = self.setting
        columns = [(setting.time, setting.clock.arrow)]
        columns += [(setting.seq, pa.int64())] if setting.seq else []
        columns += [(each, setting.kind(name, each)) for each in setting.declared[name]]
        rows = [row for row in self.rows if row["type"] == name]
        return pa.Table.from_pylist(rows, schema=pa.schema(columns))

    @property
    def records(self) -> Any:
        """The rows as dicts, or a list of them for each type."""
        if self.setting.layout != TABLES:
            return self.rows
        lists: dict[str, list[Row]] = {name: [] for name in self.setting.declared}
        for row in self.rows:
            lists[row["type"]].append({name: row[name] for name in row if name != "type"})
        return lists


def example(number: int, form: str) -> Example:
    """The example of a number, and of a form of `queries.FORMS`."""
    return drawn_example(Draw(number), form)


def drawn_example(draw: Draw, form: str) -> Example:
    """An example of a form; it mostly has a match."""
    if form == APART or form in GROUPS:
        return Example(*drawn_groups(draw, form))  # type: ignore[arg-type]
    if form in JUDGES:
        return Example(*drawn_imprecise(draw, form), judge=JUDGES[form])
    setting = drawn_setting(draw)
    query = drawn_query(draw, setting, form)
    kinds = _kinds(draw, query, form)
    negative = [part.types[0] for part in query.components if part.negated]
    is_single = form == "sequences"
    most = MOST_SINGLE[len(query.positives)] if is_single else MOST_EVENTS.get(form, 12)
    rows = stream(draw, setting, kinds, negative, query.text, most)
    if not is_single:
        rows = [*inexact(rows)]
        if form == "series" and query.strategy in (STRICT, PARTITION) and draw.chance(50):
            rows = [without_nulls(row, setting) for row in rows]
        if form != "series" or query.strategy in ("", ANY):
            rows = shortened(query, setting, rows, FEW_RUNS.get(form, MOST_RUNS))
    output = "all" if is_single else draw.one_of("all", "all", "all", "non_overlap")
    drawn = Example(query, setting, rows, output)
    wants = draw.chance(50 if form == "negative groups" else 90)
    return with_matches(drawn) if wants and not drawn.is_refused else drawn


def first_example(draw: Draw, form: str, fits: Callable[[Example], bool]) -> Example:
    """The first one that fits."""
    while True:
        drawn = drawn_example(draw, form)
        if fits(drawn):
            return drawn


def _kinds(draw: Draw, query: Query, form: str) -> list[tuple[str, ...]]:
    """The types of events of one or two branches, one after the other; of absences as well."""
    kinds = list[tuple[str, ...]]()
    ways = steps(query.tree, whole=True)
    for _ in range(1 if form in ("sequences", "series") else 2):
        has_absences = form == "negative groups" and draw.one_of(True, False, True)
        for step in draw.choice(ways):
            of_step = list[tuple[str, ...]]()
            for part in step:
                if has_absences or not part.negated:
                    of_step += [part.types] * draw.choice(usual(part))
            kinds += draw.permutation(of_step)
    return kinds


def usual(part: Part) -> list[int]:
    """How many events of a component a stream often has in a row."""
    most = part.least + 2 if part.most is None else part.most
    return [number for number in range(part.least, most + 1) if number] or [1]


def inexact(rows: Sequence[Row]) -> Iterator[Row]:
    for place, row in enumerate(rows):
        value = row.get("f")
        yield {**row, "f": INEXACT.get(value, value)} if place % 3 and "f" in row else row


def without_nulls(row: Row, setting: Setting) -> Row:
    """With a number for NULL and NaN, so that one kernel may go through such events."""
    kinds = setting.columns
    numbers = [name for name in row if name in {*kinds} - {"g"} and kinds[name] in (INTEGER, FLOAT)]
    return row | {name: 1 for name in numbers if row[name] is None or row[name] != row[name]}


# ---------------------------------------------------------------- how many runs there are


def shortened(query: Query, setting: Setting, rows: Sequence[Row], most: int) -> list[Row]:
    """Leave out the last rows until there are `most` runs at most."""
    left = list(rows)
    ways = [[step for step in way if not step[0].negated] for way in query.ways]
    while sum(_runs(way, setting, left) for way in ways) > most:
        left.remove(max(left, key=setting.key))
    return left


def _runs(way: Steps, setting: Setting, rows: Sequence[Row]) -> int:
    """Runs under skip till any match, summed over the events, if all conditions held."""
    alive: Counter[Place] = Counter()
    total = 0
    for row in sorted(rows, key=setting.key):
        kind = type_of(row, setting)
        new: Counter[Place] = Counter()
        for (step, bound), number in [*alive.items(), ((-1, ()), 1)]:
            for after in _moves(way, step, bound, kind):
                new[after] += number
        alive += new
        total += alive.total()
    return total


def _moves(way: Steps, step: int, bound: tuple[int, ...], kind: str | None) -> Iterator[Place]:
    """The places that a run may reach with an event; a count of events ends at three."""
    while True:
        for place, number in enumerate(bound):
            part = way[step][place]
            if number < (math.inf if part.most is None else part.most) and admits(part, kind):
                yield step, (*bound[:place], min(number + 1, 3), *bound[place + 1 :])
        if any(number < part.least for number, part in zip(bound, way[max(step, 0)], strict=False)):
            return
        step += 1
        if step == len(way):
            return
        bound = (0,) * len(way[step])


def type_of(row: Row, setting: Setting) -> str | None:
    """Its type, as far as that is written in the row."""
    if setting.layout == DEFINED:
        return NAMES[row["g"] - 1] if row["g"] in range(1, 5) else None
    return row["type"] if setting.layout == TABLES else row.get(setting.type)


def admits(part: Part, kind: str | None) -> bool:
    """Whether a component may bind an event of a type, or of one that is not known."""
    return kind is None or kind in part.types


# ---------------------------------------------------------------- results


def with_matches(example: Example) -> Example:
    """With ever fewer clauses, until a match is left."""
    while not example.expected and (shorter := _shorter(example.query)) is not None:
        example = replace(example, query=shorter)
    return example


def _shorter(query: Query) -> Query | None:
    if query.having:
        return replace(query, having="")
    if query.conditions:
        return replace(query, conditions=query.conditions[:-1])
    if query.tests and "PARTITION" not in query.window and "partition" not in query.strategy:
        return replace(query, tests=query.tests[:-1])
    if query.strategy == STRICT and any(part.quantifier for part in query.components):
        return replace(query, strategy=NEXT)
    return None

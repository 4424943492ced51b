"""Random statements over the streams that are there: of levels 1 and 2, and some of level 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

# The kinds of attributes: those of composite events are named by their content, too.
TEXT = "s"


@dataclass(frozen=True)
class Table:
    """The inputs that a statement can read: types with their attributes."""

    name: str | None
    types: Mapping[str, tuple[str, ...]]
    time: str
    composite: bool
    imprecise: bool = False
    ordered: bool = False  # simultaneous events stand in an order


@dataclass(frozen=True)
class Statement:
    """A statement, and the stream that it makes."""

    text: str
    creates: Table | None


@dataclass(frozen=True)
class Part:
    """A component: its variable, its types, and its quantifier."""

    variable: str
    types: tuple[str, ...]
    quantifier: str = ""
    negated: bool = False
    # Of a repeated or a negative group: it is referred to in conditions alone.
    inside: bool = False

    @property
    def text(self) -> str:
        test = self.types[0] if len(self.types) == 1 else f"ANY({', '.join(self.types)})"
        series = "[]" if self.is_series else ""
        sign = "!" if self.negated and not self.inside else ""
        return f"{sign}{test}{self.quantifier} {self.variable}{series}"

    @property
    def is_series(self) -> bool:
        return self.quantifier not in ("", "?")


def statement(
    random: Random, number: int, inputs: Sequence[Table], known: Sequence[Table], unit: str
) -> Statement:
    sources = _sources(random, inputs, known)
    writer = _Writer(random, sources, unit, number)
    creates = random.random() < 0.65
    query = writer.query(creates)
    source = ", ".join(str(each.name) for each in sources if each.name is not None)
    text = f"FROM {source} {query}" if source else query
    if not creates:
        return Statement(text, None)
    name = f"s{number}"
    types = {writer.type_name or name: writer.attributes}
    return Statement(
        f"CREATE STREAM {name} AS {text}", Table(name, types, sources[0].time, composite=True)
    )


def _sources(random: Random, inputs: Sequence[Table], known: Sequence[Table]) -> list[Table]:
    """Mostly some that are made by statements; the input without a name cannot be named."""
    named = [each for each in known if each.name is not None]
    if not named or (len(named) < len(known) and random.random() < 0.4):
        return [inputs[0]]
    made = [each for each in named if each.composite]
    first = random.choice(made if made and random.random() < 0.7 else named)
    others = [each for each in named if each is not first]
    count = random.choice([0, 0, 1, 1, 2])
    found = [first, *random.sample(others, min(count, len(others)))]
    random.shuffle(found)
    if any(each.imprecise for each in found) and len(found) > 1:
        # An input with an order is not read beside imprecise time.
        unordered = [each for each in found if not (each.composite or each.ordered)]
        return unordered or [first]
    return found


class _Writer:
    """Writes one query."""

    def __init__(self, random: Random, sources: Sequence[Table], unit: str, number: int) -> None:
        self._number = number
        self._random, self._unit = random, unit
        self._types = dict[str, tuple[str, ...]]()
        for each in sources:
            for name, attributes in each.types.items():
                both = (*self._types.get(name, ()), *attributes)
                self._types[name] = tuple(dict.fromkeys(both))
        self._sources = sources
        self._is_imprecise = any(each.imprecise for each in sources)
        self.type_name: str | None = None
        self.attributes: tuple[str, ...] = ()

    def query(self, creates: bool) -> str:
        level = self._random.choice([1, 1, 1, 2, 2, 3, 4])
        if level == 4 and not self._is_imprecise:
            pattern, parts, extra = self._grouped()
        else:
            level = min(level, 3)
            parts, extra = self._parts(level), {}
            pattern = self._pattern(parts, level)
        strategy = self._strategy(parts) if level == 2 and not self._is_imprecise else ""
        conditions = self._conditions(parts)
        tests = self._tests(parts, strategy)
        where = " AND ".join([*tests, *conditions])
        if strategy:
            where = f"{strategy} {{ {where} }}" if where else strategy
        window = self._window(parts, strategy, bool(tests))
        # The naive way knows the attributes of the flat form by the results alone.
        self._may_be_flat = " OR " not in pattern and ")?" not in pattern
        returned = self._returned(parts, creates, extra)
        limit = f"LIMIT {self._random.randint(0, 4)}" if self._random.random() < 0.08 else ""
        clauses = [
            f"EVENT {pattern}", f"WHERE {where}" if where else "",
            f"WITHIN {window}" if window else "", returned, limit,
        ]  # fmt: skip
        return " ".join(filter(None, clauses))

    # -- patterns

    def _parts(self, level: int) -> list[Part]:
        count = self._random.choice([1, 2, 2, 2, 3] if level < 3 else [2, 2, 3])
        parts = [self._part(variable) for variable in "abc"[:count]]
        if level == 2:
            place = self._random.randrange(len(parts))
            quantifier = self._random.choice(["+", "+", "{1,2}", "{2}", "?", "*"])
            if len(parts) > 1 or quantifier not in "?*":
                parts[place] = Part(parts[place].variable, parts[place].types, quantifier)
        if level == 1 and self._random.random() < 0.35:
            place = self._random.randint(0, len(parts))
            parts.insert(place, Part("x", self._part("x").types, negated=True))
        return parts

    def _part(self, variable: str) -> Part:
        names = list(self._types)
        count = 2 if len(names) > 1 and self._random.random() < 0.15 else 1
        return Part(variable, tuple(self._random.sample(names, count)))

    def _pattern(self, parts: Sequence[Part], level: int) -> str:
        texts = [part.text for part in parts]
        if level == 3 and len(parts) == 3 and self._random.random() < 0.5:
            return f"SEQ({texts[0]}, ({texts[1]} OR {texts[2]}))"
        if level == 3 and self._is_imprecise:
            return " OR ".join(texts)
        if level == 3:
            return self._random.choice([f"SET({', '.join(texts)})", " OR ".join(texts)])
        return texts[0] if len(texts) == 1 else f"SEQ({', '.join(texts)})"

    def _grouped(self) -> tuple[str, list[Part], dict[str, str]]:
        """A group or a set in a sequence, its parts, and other values to return."""
        a, b, c, d = (self._part(variable) for variable in "abcd")
        form = self._random.choice(["repeated", "negative", "optional", "set", "series in a set"])
        inside = [replace(each, inside=True) for each in (b, c)]
        inner = f"SEQ({b.text}, {c.text})"
        match form:
            case "repeated":
                some = self._random.choice(["+", "{1,2}", "{2}"])
                extra = {"count_n": "g.len"}
                if self._random.random() < 0.5:
                    return f"SEQ({a.text}, ({inner}){some} g[])", [a, *inside], extra
                return f"SEQ({a.text}, ({inner}){some} g[], {d.text})", [a, *inside, d], extra
            case "negative":
                parts = [a, *(replace(each, negated=True) for each in inside), d]
                return f"SEQ({a.text}, !({inner}), {d.text})", parts, {}
            case "optional":
                return f"SEQ({a.text}, ({inner})?, {d.text})", [a, b, c, d], {}
            case "set":
                return f"SEQ(SET({a.text}, {b.text}), {c.text})", [a, b, c], {}
        c = replace(c, quantifier=self._random.choice(["+", "{1,2}"]))
        return f"SEQ({a.text}, SET({b.text}, {c.text}))", [a, b, c], {}

    # -- conditions

    def _strategy(self, parts: Sequence[Part]) -> str:
        choices = ["skip_till_next_match", "skip_till_next_match", "strict_contiguity"]
        if all(part.quantifier not in ("+", "*") for part in parts):
            choices += ["", "skip_till_any_match"]
        return self._random.choice(choices)

    def _shared(self, parts: Sequence[Part]) -> list[str]:
        """Attributes that all types of all parts have."""
        every = [set(self._types[name]) for part in parts for name in part.types]
        return sorted(set.intersection(*every))

    def _tests(self, parts: Sequence[Part], strategy: str) -> list[str]:
        names = self._shared(parts)
        if not names or len(parts) < 2 or self._random.random() < 0.6:
            return []
        return [f"[{self._random.choice([name for name in names if name != 'u'] or names)}]"]

    def _conditions(self, parts: Sequence[Part]) -> list[str]:
        count = self._random.choice([0, 0, 1, 1, 2])
        found = [self._condition(parts) for _ in range(count)]
        return [each for each in found if each]

    def _condition(self, parts: Sequence[Part]) -> str:
        one = self._random.choice(parts)
        attributes = self._shared([one])
        if not attributes:
            return ""
        name = self._random.choice(attributes)
        others = [p for p in parts if p is not one and not p.negated and not p.is_series]
        at = f"{one.variable}[i]" if one.is_series else one.variable
        if others and self._random.random() < 0.6:
            other = self._random.choice(others)
            same_kind = [each for each in self._shared([other]) if _kind(each) == _kind(name)]
            if same_kind:
                operator = self._random.choice(["=", "=", "<=", "!=", "<"])
                return f"{at}.{name} {operator} {other.variable}.{self._random.choice(same_kind)}"
        value = "'x'" if _kind(name) == TEXT else str(self._random.randint(0, 2))
        return f"{at}.{name} {self._random.choice(['>=', '=', '!='])} {value}"

    def _window(self, parts: Sequence[Part], strategy: str, has_test: bool) -> str:
        needed = parts[0].negated or parts[-1].negated
        optional = any(part.quantifier in ("?", "*") for part in parts)
        number = self._random.choice([2, 4, 6, 9, 14])
        kind = self._random.random()
        if kind < 0.12 and not (parts[-1].negated or optional or self._is_imprecise):
            return f"{number} EVENTS"
        if kind < 0.2 and not needed:
            return ""
        inclusive = " INCLUSIVE" if self._random.random() < 0.1 else ""
        return f"{number} {self._unit}{inclusive}"

    # -- results

    def _returned(self, parts: Sequence[Part], creates: bool, extra: Mapping[str, str]) -> str:
        """RETURN; where the results have series it lists columns, which can be named behind."""
        positive = [part for part in parts if not part.negated and not part.inside]
        has_series = any(part.is_series for part in positive) or len(positive) < len(parts)
        if self._random.random() < (
            0.4 if self._may_be_flat and not has_series and self._is_plain(positive) else 0
        ):
            self.attributes = tuple(
                f"{part.variable}_{name}" for part in positive for name in self._shared([part])
            )
            return ""
        items = {**self._items(positive), **extra}
        self.attributes = tuple(items)
        texts = [f"{text} AS {name}" for name, text in items.items()]
        if creates and self._random.random() < 0.4:
            # Two streams may make one type, which then has the attributes of both.
            number = "" if self._random.random() < 0.5 else self._number
            self.type_name = f"{self._random.choice('TU')}{number}"
            return f"RETURN {self.type_name}({', '.join(texts)})"
        return f"RETURN {', '.join(texts)}"

    def _is_plain(self, parts: Sequence[Part]) -> bool:
        """Whether the flat form has the columns of one type alone for each part."""
        return all(len(part.types) == 1 and not part.quantifier for part in parts) and not any(
            source.composite for source in self._sources
        )

    def _items(self, parts: Sequence[Part]) -> dict[str, str]:
        items = dict[str, str]()
        for part in parts:
            for name in self._shared([part]):
                at = f"{part.variable}[1]" if part.is_series else part.variable
                short = next((each for each in ("id", "n", "s", "u") if name.endswith(each)), "n")
                column = short if short not in items else f"{part.variable}_{name}"
                if column not in items and (not items or self._random.random() < 0.7):
                    items[column] = f"{at}.{name}"
        series = [part for part in parts if part.is_series]
        if series:
            items["count_n"] = f"{series[0].variable}.len"
        return items or {"n": "1 + 1"}


def _kind(name: str) -> str:
    return TEXT if name.endswith(("_s", "s")) else "n"

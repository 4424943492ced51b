"""Random queries of level 2 on a stream of a given setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.engine.matching.queries import equivalence_tests, negated, within
from tests.engine.matching.streams import Setting
from tests.engine.series.writing import Part, SeriesWriter

STRICT, PARTITION = "strict_contiguity", "partition_contiguity"
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"
# Each form with the least and the most events.
SERIES: dict[str, tuple[int, int | None]] = {
    "+": (1, None), "*": (0, None), "{2}": (2, 2), "{1}": (1, 1), "{2,}": (2, None),
    "{0,}": (0, None), "{1,2}": (1, 2), "{0,2}": (0, 2), "{2,3}": (2, 3), "{0,1}": (0, 1),
}  # fmt: skip
FORMS = {"": (1, 1), "?": (0, 1), **SERIES}
USUAL = ["+"] * 6 + ["*"] * 4 + ["?"] * 4 + [""] * 8
# Signs that exclude each other, and some that both accept equal values.
PAIRS = [
    ("<", ">"), ("<", ">="), (">", "<="), ("=", "!="), ("!=", "="), ("<=", ">"), ("=", "<"),
    ("<=", ">="), (">=", "<="), ("=", "="), ("!=", "<"), ("<=", "="),
]  # fmt: skip
# Forms with a small maximum: a run that has reached it waits for what follows.
SMALL = ["{1}"] * 3 + ["?"] * 2 + ["{2,3}"] * 2 + ["{2}", "{1,2}", "{0,2}"]


@dataclass(frozen=True)
class SeriesQuery:
    """A query by its clauses, so that one of them can be left out."""

    components: tuple[Part, ...]
    strategy: str = ""  # none is written
    listed: str = ""  # the variables that it is written with
    tests: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    window: str = ""
    having: str = ""
    returned: str = ""
    limit: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tests_first: bool = False

    @property
    def text(self) -> str:
        clauses = [
            f"EVENT {self.pattern}", f"WHERE {self._where}" if self._where else "",
            f"WITHIN {self.window}" if self.window else "",
            f"HAVING {self.having}" if self.having else "", self.returned, self.limit,
        ]  # fmt: skip
        return " ".join(filter(None, clauses))

    @property
    def pattern(self) -> str:
        parts = [negated(part) if part.negated else part.text for part in self.components]  # type: ignore[arg-type]
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    @property
    def _where(self) -> str:
        parts = self.tests + self.conditions if self.tests_first else self.conditions + self.tests
        conditions = " AND ".join(parts)
        if not self.strategy:
            return conditions
        return f"{self.strategy}{self.listed} {{ {conditions} }}" if parts else self.strategy

    @property
    def positives(self) -> list[Part]:
        return [part for part in self.components if not part.negated]

    @property
    def negated_end(self) -> str:
        """Whether an absence is waited for: of "each" match, of "some", or of none."""
        return edge(self.components[::-1])

    @property
    def is_inclusive(self) -> bool:
        return self.window.endswith("INCLUSIVE")


def edge(parts: Sequence[Part]) -> str:
    """Whether a negative component begins "each" match, or "some" in which others are empty."""
    if parts[0].negated:
        return "each"
    for place, part in enumerate(parts):
        if part.negated:
            others = [before for before in parts[:place] if not before.negated]
            return "some" if all(before.least == 0 for before in others) else ""
    return ""


@st.composite
def queries(draw: st.DrawFn, setting: Setting) -> SeriesQuery:
    strategy = draw(st.sampled_from([ANY, NEXT, STRICT, PARTITION, "", NEXT]))
    does_turn = strategy in (STRICT, PARTITION) and draw(st.booleans())
    components = draw(_turning(setting) if does_turn else _components(setting, strategy))
    writer = SeriesWriter(draw, setting, components)  # type: ignore[arg-type]
    tests = equivalence_tests(writer)
    if strategy == PARTITION and not tests:
        tests = some_test(writer)
    if strategy == PARTITION and not tests:
        strategy = STRICT
    count = draw(st.sampled_from([0, 0, 0, 1] if does_turn else [1, 1, 2, 0, 2, 3]))
    equalities = writer.equalities() if writer.chance(10) else ()
    conditions = (*turns(writer), *equalities) if does_turn else equalities
    conditions += tuple(writer.conjunct() for _ in range(count))
    edges = edge(components) != "", edge(components[::-1]) != ""
    window = within(writer, bool(tests), *edges)
    having = writer.having() if writer.chance(30) else ""
    returned = writer.returned() if writer.chance(45) else ""
    most = writer.one_of(2, 1, 3, 5, 0)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if writer.chance(15) else ""
    return SeriesQuery(
        components, strategy, listed(writer) if strategy else "", tests, conditions, window,
        having, returned, limit, writer.parameters, draw(st.booleans()),
    )  # fmt: skip


def some_test(writer: SeriesWriter) -> tuple[str, ...]:
    """A test on an attribute that some type of the pattern declares."""
    declared = writer.setting.declared
    known = {name for part in writer.components for kind in part.types for name in declared[kind]}
    names = sorted(known & {"id", "k"})
    return (f"[{writer.one_of(*names)}]",) if names else ()


def listed(writer: SeriesWriter) -> str:
    """The variables of the strategy, which are written only where there are conditions."""
    names = [part for part in writer.components if part.variable and not part.negated]
    if not names or not writer.chance(40):
        return ""
    brackets = ["[]" if part.quantifier and writer.chance(50) else "" for part in names]
    return f"({', '.join(f'{p.variable}{b}' for p, b in zip(names, brackets, strict=True))})"  # type: ignore[attr-defined]


# ---------------------------------------------------------------- series that turn


@st.composite
def _turning(draw: st.DrawFn, setting: Setting) -> tuple[Part, ...]:
    """Series one behind the other, of the same types mostly: an event may be of either."""
    forms = draw(st.sampled_from([["+", "+"], ["", "+", "+"], ["+", "{2,}"], ["{1,2}", "+", ""]]))
    numbers = [name for name in setting.types if {"n", "f"} & {*setting.declared[name]}]
    name = draw(st.sampled_from(numbers or setting.types[:1]))
    test, types = name, (name,)
    if draw(st.integers(0, 2)) == 0:
        test, types = component_test(draw, setting, negative=False)
    usual = [Part(test, types, name, False, "+") for name in "abc"]
    if draw(st.integers(0, 5)) == 0:
        usual[-1] = _part(draw, setting, "c", "+")._replace(variable="c")
    return tuple(
        part._replace(quantifier=form, least=FORMS[form][0], most=FORMS[form][1], suffix="")
        for part, form in zip(usual, forms, strict=False)
    )


def turns(writer: SeriesWriter) -> Iterator[str]:
    """What is asked of further events, and of the first one behind; often these exclude another."""
    declared = writer.setting.declared
    shared = set.intersection(*({*declared[t]} for part in writer.components for t in part.types))
    attribute = writer.one_of(*(sorted(shared & {"n", "f"}) or ["n"]))
    for left, right in pairwise(writer.components):
        sign, other = writer.one_of(*PAIRS)
        a, b, first = left.variable, right.variable, "[1]" if right.quantifier else ""
        before = f"{a}[{a}.len]" if left.quantifier else a
        if left.quantifier:
            yield f"{a}[i].{attribute} {sign} {a}[i-1].{attribute}"
        yield f"{b}{first}.{attribute} {other} {before}.{attribute}"


# ---------------------------------------------------------------- EVENT


@st.composite
def _components(draw: st.DrawFn, setting: Setting, strategy: str) -> tuple[Part, ...]:
    count = draw(st.sampled_from([2, 1, 2, 3, 3, 4]))
    forms = [_form(draw) for _ in range(count)]
    if strategy == NEXT and draw(st.booleans()):
        forms[draw(st.integers(0, max(count - 2, 0)))] = draw(st.sampled_from(SMALL))
    if strategy in ("", ANY) and not any(forms):
        forms[draw(st.integers(0, count - 1))] = draw(st.sampled_from(["+", *SERIES]))
    if all(FORMS[form][0] == 0 for form in forms):
        forms[draw(st.integers(0, count - 1))] = draw(st.sampled_from(["+", "+", "{2,}"]))
    parts = [_part(draw, setting, name, form) for name, form in zip("abcd", forms, strict=False)]
    for variable in "xyz"[: draw(st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2]))]:
        place = draw(st.integers(0, len(parts)))
        parts.insert(place, _part(draw, setting, variable, "", negative=True))
    return tuple(parts)


def _form(draw: st.DrawFn) -> str:
    usual = draw(st.integers(0, 3))
    return draw(st.sampled_from(USUAL if usual else [*SERIES]))


def _part(
    draw: st.DrawFn, setting: Setting, variable: str, form: str, *, negative: bool = False
) -> Part:
    named = variable if draw(st.integers(0, 8)) < 8 else None
    test, types = component_test(draw, setting, negative)
    suffix = draw(st.sampled_from(["[]", "[]", ""])) if form not in ("", "?") else ""
    least, most = FORMS[form]
    return Part(test, types, named, negative, form, least, most, suffix)


def component_test(
    draw: st.DrawFn, setting: Setting, negative: bool
) -> tuple[str, tuple[str, ...]]:
    every = setting.types
    # A negative component is often of the last type: it shall not forbid every match.
    usual = every[-1:] if negative else every[:3]
    match draw(st.integers(0, 9)):
        case 8 if len(every) > 1:
            two = tuple(draw(st.permutations(every))[:2])
            return f"ANY({', '.join(two)})", two
        case 9:
            return "ANY", tuple(setting.declared)
        case number:
            name = draw(st.sampled_from(usual if number < 6 else every))
            return name, (name,)

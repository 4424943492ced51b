"""Random patterns of every form, on types of a given setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.drawing.draw import Draw, names
from tests.drawing.patterns import (
    QUANTIFIERS,
    SERIES,
    Choice,
    Node,
    Part,
    binds,
    branches,
    leaves,
    sequence,
)
from tests.drawing.streams import Setting

ANY, NEXT = "skip_till_any_match", "skip_till_next_match"
# Positive components, and negative ones: `i` and `g` stand for something else.
POSITIVE, NEGATIVE = "abcdefhjklmopqrst", "xyzuvw"
DEEPEST, MOST_VARIABLES, MOST_BRANCHES = 3, 6, 12
USUAL = ["+"] * 6 + ["*"] * 4 + ["?"] * 4 + [""] * 8
# Quantifiers with a small maximum: a run that has reached it waits for the next component.
SMALL = ["{1}"] * 3 + ["?"] * 2 + ["{2,3}"] * 2 + ["{2}", "{1,2}", "{0,2}"]
IN_CHOICES = ("", "", "", "+", "*", "?", "{2}", "{1,2}")
MEMBERS = ("", "", "", "", "+", "+", "*", "?", "{2}", "{1}", "{1,2}", "{2,}")
ABSENT = ("", "", "", "", "", "+", "?", "{2}", "*", "{1,2}", "{2,}")
# The number of alternatives at each place of a pattern with branches that share scans.
CHOICES = ((2,), (1, 2), (2, 1), (1, 2, 1), (2, 2), (1, 3, 1), (3, 1), (1, 1, 2), (2, 2, 1))
# How many members each set of single events has; one that is alone is also written without a set.
SIZES = ((2,), (3,), (2, 1), (1, 2), (3, 1), (1, 2, 1), (2, 2), (4,), (1, 1), (2, 2, 1))


def component_test(draw: Draw, setting: Setting, negative: bool) -> tuple[str, tuple[str, ...]]:
    """How a component is tested, and the types that it admits."""
    every = setting.types
    # A negative component is often of the last type: it shall not forbid every match.
    usual = every[-1:] if negative else every[:3]
    match draw.randrange(10):
        case 8 if len(every) > 1:
            two = tuple(draw.sample(every, 2))
            return f"ANY({', '.join(two)})", two
        case 9:
            return "ANY", tuple(setting.declared)
        case number:
            name = draw.choice(usual if number < 6 else every)
            return name, (name,)


@dataclass
class Drawer:
    """Draws the parts of a pattern, each variable once."""

    draw: Draw
    setting: Setting
    with_series: bool = True
    used: int = 0
    groups: int = 0
    nameless: int = 10  # of a hundred components
    names: dict[bool, Iterable[str]] = field(
        default_factory=lambda: {False: names(POSITIVE), True: names(NEGATIVE)}
    )

    def component(
        self, again: Sequence[Part] = (), *, form: str | None = None, negative: bool = False
    ) -> Part:
        """A component with a new variable, with none, or with that of another alternative."""
        like = None
        if again and not negative and self.draw.chance(60):
            like = self.draw.choice([each for each in again if not each.negated] or [None])
        test, types = component_test(self.draw, self.setting, negative)
        if like is not None and self.draw.chance(50):
            test, types = like.test, like.types
        if form is None:
            form = self._form(like) if not negative else ""
        variable = like.variable if like is not None else self.variable(negative)
        return Part(test, types, variable, negative).quantified(form)

    def single(self, name: str, *, negative: bool = False) -> Part:
        """One event of a type."""
        return Part(name, (name,), next(self.names[negative]), negative)  # type: ignore[call-overload]

    def _form(self, like: Part | None) -> str:
        """That of the same variable, or another one that binds lists as well."""
        if like is not None:
            return self.draw.choice([*SERIES]) if like.is_list else like.quantifier
        return self.draw.choice(IN_CHOICES) if self.with_series else ""

    def variable(self, negative: bool) -> str | None:
        if self.draw.chance(self.nameless):
            return None
        self.used += 1
        return next(self.names[negative])  # type: ignore[call-overload, no-any-return]

    # ------------------------------------------------------------ choices

    def choice(self, depth: int, again: Sequence[Part] = ()) -> Choice:
        """Alternatives or a group that may be left out."""
        if self.draw.chance(60):
            return self._alternatives(depth, again)
        inner = self.sequence(depth - 1, again)
        self.groups += 1
        return Choice("?", (inner,), self.draw.one_of("", "", f"g{self.groups}"))

    def _alternatives(self, depth: int, again: Sequence[Part]) -> Choice:
        parts, before = list[Node](), list(again)
        for _ in range(self.draw.one_of(2, 2, 2, 3)):
            part = self.sequence(depth - 1, list(before))
            parts.append(part)
            before += [each for each in leaves(part) if each.variable and each not in before]
        return Choice("or", tuple(parts))

    def sequence(self, depth: int, again: Sequence[Part] = ()) -> Node:
        """One or two parts; the variables of the components in `again` may occur here, too."""
        parts: list[Node] = []
        for _ in range(self.draw.choice([1, 2, 1, 2, 3] if depth else [1, 2])):
            if depth > 0 and self.used < MOST_VARIABLES and self.draw.chance(20):
                parts.append(self.choice(depth, again))
            else:
                parts.append(self.component(again))
            gone = {each.variable for each in leaves(parts[-1])}
            again = [each for each in again if each.variable not in gone]
        if self.draw.chance(20):
            self.insert(parts, self.component(negative=True))
        return sequence(parts)

    def insert(self, parts: list[Node], part: Node) -> None:
        """Put a part anywhere."""
        parts.insert(self.draw.randint(0, len(parts)), part)

    def binding(self, node: Node) -> Node:
        """The pattern, with one event more if it could be empty."""
        return node if binds(node) else Choice("seq", (node, self.component(form="")))

    # ------------------------------------------------------------ sets

    def set(self, again: Sequence[Part] = ()) -> Choice:
        """A set of a few members; the variables of those in `again` may occur in it, too."""
        before, members = list(again), list[Part]()
        for _ in range(self.draw.one_of(2, 2, 2, 3, 3, 1, 4)):
            form = None if before else self.draw.choice(MEMBERS)
            members.append(self.component(before, form=form))
            before = [each for each in before if each.variable != members[-1].variable]
        if not any(part.least for part in members):
            members.append(self.component(form=""))
        return Choice("set", tuple(members))

    def chosen_set(self) -> Choice:
        """A set that may be left out, or is an alternative to another one or to a sequence."""
        one = self.set()
        if self.draw.chance(50):
            return Choice("?", (one,), self.draw.one_of("", "g1"))
        again = leaves(one)
        other = self.set(again) if self.draw.randrange(3) == 0 else self.sequence(0, again)
        return Choice("or", tuple(self.draw.permutation([one, other])))

    # ------------------------------------------------------------ absences

    def absence(self) -> Choice:
        """Sequences of which none may be there."""
        count = self.draw.one_of(1, 1, 1, 1, 2)
        return Choice("not", tuple(self._absent(count > 1) for _ in range(count)))

    def _absent(self, may_be_alone: bool) -> Node:
        least = 1 if may_be_alone else 2
        forms = [self.draw.choice(ABSENT) for _ in range(self.draw.one_of(least, 2, 2, 2, 3))]
        if all(QUANTIFIERS[form][0] == 0 for form in forms):
            forms[-1] = ""
        parts = [self._inside(form) for form in forms]
        places = [n for n in range(1, len(parts)) if parts[n - 1].least and parts[n].least]
        for place in reversed(places):
            if self.draw.one_of(True, False, False):
                parts.insert(place, self._inside("", negative=True))
        return sequence(parts)

    def _inside(self, form: str, *, negative: bool = False) -> Part:
        part = self.component(form=form, negative=negative)
        if self.draw.chance(75):
            name = self.draw.choice(self.setting.types[-2:])
            part = part._replace(test=name, types=(name,))
        return part


# ---------------------------------------------------------------- the forms


def sequences(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Single events, some of which must not be there."""
    return _sequence(draw, setting, [""] * draw.one_of(1, 1, 2, 2, 2, 2, 3, 3, 3, 4))


def series(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Series, most often with single events beside them."""
    count = draw.one_of(2, 1, 2, 3, 3, 4)
    forms = [draw.choice(USUAL if draw.chance(75) else [*SERIES]) for _ in range(count)]
    if strategy == NEXT and draw.chance(50):
        forms[draw.randint(0, max(count - 2, 0))] = draw.choice(SMALL)
    if strategy in ("", ANY) and not any(forms):
        forms[draw.randrange(count)] = draw.choice(["+", *SERIES])
    if all(QUANTIFIERS[form][0] == 0 for form in forms):
        forms[draw.randrange(count)] = draw.one_of("+", "+", "{2,}")
    return _sequence(draw, setting, forms)


def _sequence(draw: Draw, setting: Setting, forms: list[str]) -> Node:
    drawer = Drawer(draw, setting, nameless=10 if any(forms) else 14)
    parts: list[Node] = []
    for form in forms:
        part = drawer.component(form=form)
        parts.append(part._replace(suffix=draw.one_of("[]", "[]", "") * part.is_list))
    for _ in range(draw.one_of(0, 0, 0, 0, 1, 1, 1, 2)):
        drawer.insert(parts, drawer.component(negative=True))
    return sequence(parts)


def turning(draw: Draw, setting: Setting) -> Node:
    """Series one behind the other, of the same types mostly: an event may be of either."""
    forms = draw.one_of(["+", "+"], ["", "+", "+"], ["+", "{2,}"], ["{1,2}", "+", ""])
    numbers = [name for name in setting.types if {"n", "f"} & {*setting.declared[name]}]
    name = draw.choice(numbers or setting.types[:1])
    test, types = name, (name,)
    if draw.randrange(3) == 0:
        test, types = component_test(draw, setting, negative=False)
    usual = [Part(test, types, name) for name in "abc"]
    if draw.randrange(6) == 0:
        test, types = component_test(draw, setting, negative=False)
        usual[-1] = usual[-1]._replace(test=test, types=types)
    parts = [part.quantified(form) for part, form in zip(usual, forms, strict=False)]
    return Choice("seq", tuple(parts))


def choices(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Some choice; each of its branches must bind an event."""
    with_series = draw.chance(50)
    while True:
        drawer = Drawer(draw, setting, with_series)
        node: Node = drawer.choice(DEEPEST)
        if draw.chance(50):
            node = Choice("seq", tuple(draw.permutation([drawer.component(), node])))
        node = drawer.binding(node)
        if len(branches(node)) <= MOST_BRANCHES:
            return node


def shared(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Alternatives of one event each, one of which may be left out: branches share a scan."""
    drawer, places = Drawer(draw, setting), list[Node]()
    for count in draw.choice(CHOICES):
        parts = [drawer.single(name) for name in draw.permutation(setting.types)[:count]]
        if len(parts) == 1:
            places.append(parts[0])
        else:
            places.append(Choice("?", (parts[0],)) if draw.chance(10) else Choice("or", (*parts,)))
    if draw.chance(25):
        drawer.insert(places, drawer.single(draw.choice(setting.types), negative=True))
    node = Choice("seq", tuple(places))
    return node if binds(node) else Choice("seq", (*places, drawer.single(setting.types[0])))


def sets(draw: Draw, setting: Setting, strategy: str) -> Node:
    """A set, now and then in a choice; or series and choices that are to be greedy."""
    drawer, count = Drawer(draw, setting), draw.one_of(1, 2, 2, 2, 3)
    place, parts = draw.randrange(count), list[Node]()
    for number in range(count):
        if number == place:
            parts.append(drawer.chosen_set() if draw.chance(30) else drawer.set())
        else:
            parts.append(drawer.set() if draw.chance(30) else drawer.component())
    for _ in range(draw.one_of(0, 0, 0, 1, 1, 2)):
        drawer.insert(parts, drawer.component(negative=True))
    return drawer.binding(sequence(parts))


def single_sets(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Sets of single events of different types, so that runs seldom fork."""
    return _sets_of(draw, setting, draw.permutation(setting.types) * 3)


def joined_sets(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Sets of single events of any types."""
    return _sets_of(draw, setting, draw.choices(setting.types, k=12))


def _sets_of(draw: Draw, setting: Setting, types: list[str]) -> Node:
    drawer, parts = Drawer(draw, setting), list[Node]()
    for size in draw.choice([each for each in SIZES if max(each) <= len(setting.types)]):
        members = tuple(drawer.single(types.pop(0)) for _ in range(size))
        is_alone = size == 1 and draw.chance(50)
        parts.append(members[0] if is_alone else Choice("set", members))
    if draw.chance(25):
        drawer.insert(parts, drawer.single(draw.choice(setting.types), negative=True))
    return Choice("seq", tuple(parts))


def negative_groups(draw: Draw, setting: Setting, strategy: str) -> Node:
    """Sequences that must not be there, in one or two branches."""
    drawer = Drawer(draw, setting, draw.chance(50))
    ways = [_with_absences(drawer) for _ in range(draw.one_of(1, 1, 1, 1, 2))]
    return ways[0] if len(ways) == 1 else Choice("or", tuple(ways))


def _with_absences(drawer: Drawer) -> Node:
    draw = drawer.draw
    forms = ("", "", "", "", "+", "?", "{2}") if drawer.with_series else ("",)
    parts: list[Node] = [
        drawer.component(form=draw.choice(forms)) for _ in range(draw.one_of(2, 2, 1, 2, 3))
    ]
    if not binds(sequence(parts)):
        parts[0] = drawer.component(form="")
    if draw.chance(25):
        drawer.insert(parts, drawer.component(negative=True))
    for _ in range(draw.one_of(1, 1, 1, 2)):
        inner = list(range(1, len(parts))) * 3
        parts.insert(draw.one_of(*inner, 0, len(parts)), drawer.absence())
    return sequence(parts)

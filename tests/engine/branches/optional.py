"""Random patterns with a variable that is one event in a branch, and in another one or none."""

from __future__ import annotations

from random import Random

from tests.engine.groups.queries import STRATEGIES, Drawn, rows

MOST_EVENTS = 8
# What may stand beside the variable `b`: some of it in both branches, some in one.
BESIDE = {"a": "A a", "c": "C c", "d": "C d", "s": "A+ s[]"}


class Writer:
    """Writes a query."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.beside: set[str] = set()

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def branch(self, form: str) -> str:
        names = self.random.sample(list(BESIDE), self.random.choice((1, 1, 2)))
        if names == ["s"] and form == "?":
            names = ["a"]
        self.beside |= set(names)
        parts = [BESIDE[name] for name in names]
        parts.insert(self.random.randrange(len(parts) + 1), f"B{form} b")
        return f"SEQ({', '.join(parts)})"

    def value(self) -> str:
        attribute = self.one("v", "v", "w")
        name = self.one("b", "b", "b", *sorted(self.beside))
        if name == "b":
            span = self.one("", "..i", "..i-1")
            return self.one(
                f"b.{attribute}",
                f"b[{self.one('i', 'i-1', '1', 'b.len')}].{attribute}",
                f"{self.one('avg', 'sum', 'max', 'last')}(b[{span}].{attribute})",
                f"count(b[{span}])",
                "b.len",
            )
        return f"{name}[i].{attribute}" if name == "s" else f"{name}.{attribute}"

    def atom(self) -> str:
        other = self.value() if self.random.randrange(2) else str(self.random.randrange(4))
        return f"{self.value()} {self.one('<', '<=', '=', '!=', '>', '>=')} {other}"

    def conjunct(self) -> str:
        return self.atom() if self.random.randrange(4) else f"({self.atom()} OR {self.atom()})"

    def of_match(self) -> str:
        return self.one("b.v", "b[1].v", "b[b.len].w", "sum(b[].v)", "count(b[])", "avg(b[].w)")


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed; it may be one that is refused."""
    random = Random(seed)
    writer = Writer(random)
    forms = ["?", ""] if random.randrange(4) else ["?", "", random.choice(("", "?"))]
    random.shuffle(forms)
    pattern = " OR ".join(map(writer.branch, forms))
    conjuncts = [writer.conjunct() for _ in range(random.randrange(1, 4))]
    strategy = random.choice(STRATEGIES)
    conjuncts += ["[k]"] * (strategy == "partition_contiguity" or random.randrange(3) == 0)
    where = " AND ".join(conjuncts)
    text = f"EVENT {pattern} WHERE " + (f"{strategy} {{ {where} }}" if strategy else where)
    text += random.choice(("", " WITHIN 4", " WITHIN 3 EVENTS"))
    if random.randrange(4) == 0:
        text += f" HAVING {writer.of_match()} {writer.one('<', '>', '=')} {random.randrange(4)}"
    is_returned = random.randrange(3) == 0
    if is_returned:
        text += f" RETURN {writer.of_match()} AS r1, {writer.of_match()} AS r2"
    return Drawn(text, rows(random, MOST_EVENTS), is_returned)

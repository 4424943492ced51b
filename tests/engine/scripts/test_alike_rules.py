"""Books of rules that are alike: together, added and removed, each finds its matches alone."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pyarrow as pa
import pytest

import sase
from sase.engine.results import row_history
from tests.seeds import draw_numbers, share

BEFORE = ("A a", "A a, B m", "A a, !(C x)", "A a, A m", "ANY a")
ASKED = ("[k]", "[k] AND a.n >= 1", "b.n >= 1", "[k] AND a.n <= b.n", "[k] AND a.s != b.s")
LAST = ("b.n = 1", "b.n IN (2, 4)", "b.s = 's4'", "b.s IN ('s1', 's2')", "b.n > 2",
        "b.n BETWEEN 1 AND 3", "b.f >= 0.25 AND b.f < 0.75", "b.f < 0.3", "b.n >= 2 AND b.n < 4",
        "b.u > 100 AND b.u <= 9000", "")  # fmt: skip
RETURNED = ((), (), ("b.u AS u", "b.ts AS t"), ("b.f * 2.0 AS d", "b.s AS s"))
TYPES = ("B", "C", "D", "ANY(B, C)", "ANY(C, D)")


def table_of(random: Random, rows: int) -> pa.Table:
    has_ties, ts, times = random.random() < 0.3, 0, []
    for _ in range(rows):
        ts += random.choice([0, 1, 2] if has_ties else [1, 2])
        times.append(ts)
    return pa.table({
        "ts": times,
        "type": random.choices("AABCD", k=rows),
        "k": pa.array(random.choices([1, 2, 3, None] if has_ties else [1, 2, 3], k=rows)),
        "n": pa.array(random.choices([0, 1, 2, 3, 4, None], k=rows), pa.int64()),
        "s": pa.array(random.choices(["s1", "s2", "s3", "s4", None], k=rows)),
        "f": [random.random() for _ in range(rows)],
        "u": [random.randrange(10_000) for _ in range(rows)],
    })  # fmt: skip


def book_of(random: Random) -> Callable[[], str]:
    """Draws rules of which most are alike but for window, last event and order of RETURN."""
    before, asked = random.choice(BEFORE), random.choice(ASKED)
    returned, unit = random.choice(RETURNED), random.choice(["", "", " EVENTS"])

    def rule() -> str:
        own = random.sample(returned, len(returned))
        where = " AND ".join(filter(None, (asked, random.choice(LAST))))
        within = f"{random.choice([5, 20, 60])}{unit}{' RETURN ' * bool(own)}{', '.join(own)}"
        return f"EVENT SEQ({before}, {random.choice(TYPES)} b) WHERE {where} WITHIN {within}"

    return rule


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(12)))
def test_each_rule_finds_what_it_does_alone(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(number)
    many, run = random.choice([(3, 2), (64, 32)])
    monkeypatch.setattr(row_history, "MANY", many)
    monkeypatch.setattr(row_history, "RUN", run)
    books = [book_of(random) for _ in range(random.choice([1, 1, 2]))]
    table = table_of(random, random.choice([60, 200]))
    texts = [random.choice(books)() for _ in range(random.randint(1, 6))]
    script = sase.Script(";".join(texts), table.schema)
    for text, found in zip(texts, script.run(table).values(), strict=True):
        assert found.to_arrow().equals(sase.match(text, table).to_arrow()), text
    matcher, parts, at = script.open(), [], 0
    since = {f"query_{place}": (text, 0) for place, text in enumerate(texts, 1)}
    until = dict[str, int]()
    while at < len(table):
        count = random.choice([1, 3, 7, 20, 80])
        parts.append(matcher.push(None, table.slice(at, count)))
        at = min(at + count, len(table))
        if random.random() < 0.3:
            text = random.choice(books)()
            (name,) = matcher.add(text)
            since[name] = text, at
        if random.random() < 0.1 and len(since) > len(until) + 1:
            name = random.choice([each for each in since if each not in until])
            matcher.remove(name)
            until[name] = at
        if random.random() < 0.1:
            matcher = matcher.script.restore(matcher.snapshot())
    parts.append(matcher.finish())
    for name, (text, begin) in since.items():
        given = table.slice(begin, until.get(name, len(table)) - begin)
        told = [row for part in parts if name in part for row in part[name].to_arrow().to_pylist()]
        assert told == (sase.match(text, given).to_arrow().to_pylist() if len(given) else []), text

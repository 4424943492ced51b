"""Lines of JSON with all that occurs in such files: searched, or refused with a word of ours."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from random import Random

from tests.fuzz import driver, lines

# Values that are none of JSON, or more than a column holds.
ODD = (
    "NaN", "-Infinity", "1e999", "-0.0", "0123", "1.", ".5", "+1", "0x10", "undefined", "'x'", "",
    "[]", "{}", "[1]", '{"x": 1}', '[[[["deep"]]]]', '{"a": {"b": [1, null, "x"]}}', "[1, 2.5]",
    '["x", 1]', "[" * 200 + "]" * 200, "[" * 900 + "]" * 900, "[" * 3000,
    '{"a":' * 2000 + "1" + "}" * 2000, '{"a":' * 80 + "1" + "}" * 80, '"\\ud800"',
    '"\\ud83d\\ude00"', '"\\u0000"', '"\\x41"', '"\\u00"', '"a\tb"', '"unclosed', "true", "null",
    '"2026-01-31T12:00:00Z"', '"1"', "1" * 400, "1e-400", "1" * 400 + ".5", "tru", "1 2", "1,", ",",
)  # fmt: skip
LINES = (
    "", "[]", "[{}]", "null", "1", '"x"', "{}", "{", "}", '{"ts"}', '{"ts": 1,}', "// a comment",
    '{"ts": 1} {"ts": 2}', '{"ts": 1}{"ts": 2}', '{1: 2}', "{'ts': 1}", '{"": 1}',
    '{"ts": 1, "ts": 2}',
)  # fmt: skip
KEYS = ("", "ts", "id", "a.b", "\u202e", "\x1b[2J", "\ud800", "k" * 300, "ſ", "x")


def make(number: int) -> bytes:
    """Objects of some keys, of which a line may have fewer or others."""
    random = Random(number)
    columns = [name for name in lines.NAMES if name in ("ts", "type") or random.random() < 0.8]
    kind = random.choice(lines.KINDS)
    value, end = (
        _values(kind, random),
        random.choice(("\n", "\n", "\n", "\r\n", "\n\n", "\r", " \n")),
    )
    odd, sparse = random.choice((0.0, 0.0, 0.01, 0.01, 0.1)), random.choice((0.0, 0.0, 0.05, 0.5))
    found = []
    for at in range(random.choice((0, 1, 5, 5, 10, 20, 40))):
        if random.random() < 0.01:
            found.append(random.choice(LINES))
            continue
        names = [n for n in columns if n in ("ts", "type") or random.random() >= sparse]
        members = [f"{_key(n, odd, random)}: {_value(value[n](at), odd, random)}" for n in names]
        found.append("{" + ", ".join(members) + "}")
    text = end.join(found) + (end if random.random() < 0.8 else "")
    suffix = random.choice((".jsonl", ".jsonl", ".ndjson"))
    query = lines.query(columns, kind, random)
    return lines.document(suffix, query, text.encode("utf-8", "surrogatepass"), random)


def _values(kind: int, random: Random) -> dict[str, Callable[[int], str]]:
    """The makers of the values of each key, as JSON."""
    whole = random.choice((True, False))

    def time(at: int) -> str:
        text = lines.times(kind, at, random)
        return text if kind not in (2, 3) else f'"{text}"'

    return {
        "ts": time,
        "type": lambda _: f'"{random.choice("AAABBBC")}"',
        "id": lambda _: str(random.randrange(3)),
        "v": lambda at: str(at % 7) if whole else f"{at % 7}.{random.randrange(100)}",
        "s": lambda _: random.choice(
            ('"text"', '"\\u00e9"', '"é"', '"a \\"quote\\""', '""', "null")
        ),
        "when": lambda at: f'"{lines.times(3, at, random)}"',
        "day": lambda at: f'"2026-01-{1 + at % 28:02}"',
        "flag": lambda _: random.choice(("true", "false", "null")),
    }


def _key(name: str, odd: float, random: Random) -> str:
    return json.dumps(random.choice(KEYS) if random.random() < odd / 4 else name)


def _value(text: str, odd: float, random: Random) -> str:
    if random.random() >= odd:
        return text
    match random.randrange(4):
        case 0:
            return lines.numbers(random)
        case 1:
            return json.dumps(random.choice(lines.ODD), ensure_ascii=False)
        case _:
            return random.choice(ODD)


def warm() -> None:
    """Load the modules that the first documents would load."""
    lines.warm(make)


TARGET = driver.Target(make, lines.judge, ".lines", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.json_lines"]))

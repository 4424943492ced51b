"""Lines of CSV with all that occurs in such files: searched, or refused with a word of ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random

from tests.fuzz import driver, lines

ENDS = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n\r", "\r\r\n")
QUOTED = ('"{}"', '"{}"', '""{}""', '"{}', '{}"', " {} ", "'{}'", '"{}\n"', '"{},"')


def make(number: int) -> bytes:
    """A header and some rows, each of its own form where the document has one."""
    random = Random(number)
    delimiter, suffix = random.choice(((",", ".csv"), (",", ".csv"), ("\t", ".tsv")))
    columns = [name for name in lines.NAMES if name in ("ts", "type") or random.random() < 0.8]
    random.shuffle(columns)
    kind = random.choice(lines.KINDS)
    value = _values(kind, random)
    end, odd = random.choice(ENDS), random.choice((0.0, 0.0, 0.01, 0.01, 0.3))
    rows = [columns if random.random() < 0.9 else _odd_names(columns, random)]
    for at in range(random.choice((0, 1, 5, 5, 10, 20, 40))):
        row = [value[name](at) for name in columns]
        if random.random() < 0.01:
            row = random.choice((row[:-1], [*row, "x"], [], [""], row * 2, ["# a comment"]))
        rows.append([_hidden(text, odd, delimiter, random) for text in row])
    text = "".join(f"{delimiter.join(row)}{end}" for row in rows)
    text = text if random.random() < 0.8 else text.removesuffix(end)
    query = lines.query(columns, kind, random)
    return lines.document(suffix, query, text.encode("utf-8", "surrogatepass"), random)


def _values(kind: int, random: Random) -> dict[str, Callable[[int], str]]:
    """The makers of the values of each column."""
    days = random.choice(("2026-01-{:02}", "{:02}/01/2026", "{}"))
    whole = random.choice((True, False))
    return {
        "ts": lambda at: lines.times(kind, at, random),
        "type": lambda _: random.choice("AAABBBC"),
        "id": lambda _: str(random.randrange(3)),
        "v": lambda at: str(at % 7) if whole else f"{at % 7}.{random.randrange(100)}",
        "s": lambda _: random.choice(("text", "é", "some, more", 'a "quote"', "", "two\nlines")),
        "when": lambda at: lines.times(3, at, random),
        "day": lambda at: days.format(1 + at % 28),
        "flag": lambda _: random.choice(("true", "false", "")),
    }


def _hidden(text: str, odd: float, delimiter: str, random: Random) -> str:
    """A value as it is written, or another one, or quoted in some way."""
    if random.random() < odd:
        text = lines.numbers(random) if random.random() < 0.3 else random.choice(lines.ODD)
        if random.random() < 0.3:
            return random.choice(QUOTED).format(text)
    if any(sign in text for sign in (delimiter, '"', "\n")) and random.random() < 0.98:
        return '"' + text.replace('"', '""') + '"'
    return text


def _odd_names(columns: list[str], random: Random) -> list[str]:
    """A header with a name that is none, or that is there twice."""
    names, at = list(columns), random.randrange(len(columns))
    names[at] = random.choice(
        (*lines.ODD, *columns, names[at].upper(), f"{names[at]}.x", f'"{names[at]}"')
    )
    return names


def warm() -> None:
    """Load the modules that the first documents would load."""
    lines.warm(make)


TARGET = driver.Target(make, lines.judge, ".lines", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.csv_lines"]))

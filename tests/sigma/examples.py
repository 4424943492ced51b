"""Random collections of Sigma's rules, and events for them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import yaml

WORDS = ["cmd.exe", "CMD.EXE", "a%b", "a_b", "axb", "C:\\x\\Cmd.exe", "", "-", "ünï"]
PATTERNS = [*WORDS, "*.exe", "a?b", "a\\*b", "*\\cmd.exe", "*", "%", "Ü*", "a_b*"]
# Options, and texts with them and in base64.
OPTIONS = ["x -a", " -enc ", "-a -b", "a-b"]
MADE = [
    *("x /a", "run \u2013enc y", "/a -b", "a/b", "Y21k", "Y21kLmV4ZQ==", "IGNtZA==", "YwBtAGQA"),
]
REGULAR = ["^cmd", r"\.exe$", "a.b", "[A-Z]:", "ü", "x$"]
USERS = ["Ann", "ann", "Bob", None]


@dataclass(frozen=True)
class SigmaExample:
    """The text of rules, and events."""

    text: str
    events: list[dict[str, Any]]


def example(number: int) -> SigmaExample:
    random = Random(number)
    bases = [_detection(random, n) for n in range(random.randint(1, 3))]
    rules = [*bases, *(_correlation(random, n, bases) for n in range(random.randint(1, 2)))]
    if random.random() < 0.4:
        rules.append(_chained(random, rules))
    events = [_event(random) for _ in range(random.randint(4, 14))]
    return SigmaExample(yaml.safe_dump_all(rules, allow_unicode=True, sort_keys=False), events)


def _event(random: Random) -> dict[str, Any]:
    return {
        "ts": random.randint(0, 150),
        "type": random.choice("AB"),
        "id": random.choice([1, 1, 2, 3, None]),
        "image": random.choice([*WORDS, *MADE, None]),
        "address": random.choice(["10.9.8.7", "192.168.7.1", "192.168.8.1", "1.2.3.4", None]),
        "user": random.choice(USERS),
        "account.name": random.choice(USERS),
    }


def _detection(random: Random, number: int) -> dict[str, Any]:
    searches = {f"s{n}": _search(random) for n in range(random.randint(1, 3))}
    if random.random() < 0.3:
        searches["_hidden"] = {"id": 1}
    return {
        "title": f"Base {number}",
        "name": f"base_{number}",
        "logsource": {"product": "test"},
        "detection": {**searches, "condition": _condition(random, list(searches))},
    }


def _condition(random: Random, names: list[str]) -> str:
    if random.random() < 0.2:
        return random.choice(["1 of them", "all of s*", "not 1 of s*", "all of them or s0"])
    words = [random.choice(["", "", "not "]) + random.choice(names)]
    for _ in range(random.randint(0, 2)):
        words += [
            random.choice(["and", "or"]),
            random.choice(["", "", "not "]) + random.choice(names),
        ]
    text = " ".join(words)
    return f"not ({text})" if random.random() < 0.2 else text


def _search(random: Random) -> Any:
    if random.random() < 0.2:
        return [_fields(random), _fields(random)]
    return _fields(random)


def _fields(random: Random) -> dict[str, Any]:
    choices: list[tuple[str, Any]] = [
        ("id", random.choice([1, 2, [1, 3], None])),
        (f"id|{random.choice(['lt', 'lte', 'gt', 'gte', 'neq'])}", random.randint(1, 3)),
        ("image", random.choice([random.choice(PATTERNS), random.sample(PATTERNS, 2), None])),
        (f"image|{random.choice(['contains', 'startswith', 'endswith'])}", random.choice(PATTERNS)),
        ("image|contains|all", random.sample(PATTERNS, 2)),
        (f"image|windash{random.choice(['', '|contains', '|startswith'])}", random.choice(OPTIONS)),
        (f"image|{random.choice(['base64offset|contains', 'base64', 'wide|base64'])}", "cmd"),
        ("address|cidr", random.choice(["10.0.0.0/8", "192.168.4.0/22", ["1.2.3.4", "0.0.0.0/0"]])),
        ("user|fieldref", "account.name"),
        (f"image|re{random.choice(['', '|i', '|i|s'])}", random.choice(REGULAR)),
        (f"image|{random.choice(['cased', 'neq'])}", random.choice(PATTERNS)),
        ("user|exists", random.random() < 0.7),
        ("user", random.choice(["ANN", "b*"])),
    ]
    return dict(random.sample(choices, random.randint(1, 2)))


def _correlation(random: Random, number: int, rules: list[dict[str, Any]]) -> dict[str, Any]:
    names = [rule["name"] for rule in rules]
    kind = random.choice(["event_count", "value_count", "temporal", "temporal_ordered"])
    chosen = random.sample(names, random.randint(1, len(names)))
    found: dict[str, Any] = {
        "type": kind,
        "rules": chosen,
        "timespan": random.choice(["20s", "1m", "2m"]),
    }
    group = random.choice([["user"], [], ["who"], ["id", "user"]])
    if group == ["who"]:
        found["aliases"] = {"who": {name: _field_of(random, name) for name in chosen}}
    if group:
        found["group-by"] = group
    if kind == "event_count":
        found["condition"] = {random.choice(["gt", "gte"]): random.randint(1, 3)}
    if kind == "value_count":
        found["condition"] = {random.choice(["gt", "gte"]): random.randint(1, 2), "field": "image"}
    return {"title": f"Correlation {number}", "name": f"corr_{number}", "correlation": found}


def _field_of(random: Random, name: str) -> str:
    """The same for a rule each time: two correlations must not want two fields under one name."""
    return "user" if name.endswith(("0", "2")) else "account.name"


def _chained(random: Random, rules: list[dict[str, Any]]) -> dict[str, Any]:
    grouped = [rule for rule in rules if rule.get("correlation", {}).get("group-by") == ["user"]]
    chosen = (
        [random.choice(grouped), random.choice([r for r in rules if "detection" in r])]
        if grouped
        else []
    )
    if not chosen:
        return _correlation(random, 9, [rule for rule in rules if "detection" in rule])
    found = {
        "type": random.choice(["temporal", "temporal_ordered"]),
        "rules": [rule["name"] for rule in chosen],
        "group-by": ["user"],
        "timespan": "1m",
    }
    return {"title": "Chained", "name": "chained", "correlation": found}

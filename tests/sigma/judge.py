"""The alerts of rules of Sigma by its specification, by looking at every time frame.

It reads YAML by itself, and shares nothing with `sase.sigma`. An alert is the time at which a
correlation holds, with the values of its groups: one for each event that begins a time frame.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from os.path import commonprefix
from typing import Any

import yaml

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """An event that a rule finds; `order` is its place among all of the same time."""

    time: int
    order: tuple[int, ...]
    fields: Fields

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.time, self.order)


def alerts(text: str, events: Sequence[Fields]) -> dict[str, list[Found]]:
    """The alerts of each rule in events of one log source, by the rule's name."""
    rules = {rule["name"]: rule for rule in yaml.safe_load_all(text)}
    found = dict[str, list[Found]]()
    ordered = sorted(events, key=lambda event: event["ts"])  # stable: rows decide
    for name, rule in rules.items():  # rules come before those that refer to them
        if "detection" in rule:
            passing = [event for event in ordered if detects(rule["detection"], event)]
            found[name] = [Found(each["ts"], (n,), each) for n, each in enumerate(passing)]
        else:
            results = _correlated(rule["correlation"], found)
            found[name] = [
                Found(each.time, (n,), each.fields)
                for n, each in enumerate(sorted(results, key=lambda each: each.time))
            ]
    return found


# ---------------------------------------------------------------- detections


def detects(detection: Mapping[str, Any], event: Fields) -> bool:
    searches = {name: search for name, search in detection.items() if name != "condition"}
    passed = {name: _passes(search, event) for name, search in searches.items()}

    def several(found: re.Match[str]) -> str:
        pattern = found[2].replace("*", ".*") if found[2] != "them" else "[^_].*"
        values = [str(value) for name, value in passed.items() if re.fullmatch(pattern, name)]
        return f"({(' or ' if found[1] == '1' else ' and ').join(values)})"

    condition = re.sub(r"\b(1|all) of (\S+?)(?=\s|\)|$)", several, detection["condition"])
    return bool(eval(condition, {}, passed))


def _passes(search: Any, event: Fields) -> bool:
    if isinstance(search, list):
        return any(_passes(each, event) for each in search)
    return all(_fits(key, value, event) for key, value in search.items())


def _fits(key: str, wanted: Any, event: Fields) -> bool:
    name, *modifiers = key.split("|")
    values = wanted if isinstance(wanted, list) else [wanted]
    choose = all if "all" in modifiers else any
    if "fieldref" in modifiers:
        modifiers, values = ["cased"], [event.get(value) for value in values]
        if None in (event.get(name), *values):
            return False
    fits = choose(
        any(_fits_one(event.get(name), made, modifiers) for made in _made(value, modifiers))
        for value in values
    )
    return not fits if "neq" in modifiers else fits


def _made(wanted: Any, modifiers: Sequence[str]) -> list[Any]:
    """The values that modifiers make of one."""
    if "windash" in modifiers:
        found = [""]
        for n, sign in enumerate(wanted):
            is_dash = sign in "-/" and wanted[n + 1 : n + 2].isalnum() and (
                n == 0 or not wanted[n - 1].isalnum()
            )  # fmt: skip
            found = [text + each for text in found for each in ("-/–—―" if is_dash else sign)]
        return found
    if "cidr" in modifiers:
        return [IPv4Network(wanted)]
    if not {"base64", "base64offset"} & {*modifiers}:
        return [wanted]
    data = wanted.encode("utf-16-le" if "wide" in modifiers else "utf-8")
    if "base64" in modifiers:
        return [b64encode(data).decode()]
        # The letters that all texts have that have the bytes at a place.
    return [
        _common(b64encode(bytes(n) + data + end).decode() for end in (b"", b"\xff\xff"))[
            (8 * n + 5) // 6 :
        ]
        for n in range(3)
    ]


def _common(texts: Iterable[str]) -> str:
    return commonprefix(list(texts))


def _fits_one(actual: Any, wanted: Any, modifiers: Sequence[str]) -> bool:
    if "exists" in modifiers:
        return (actual is not None) == wanted
    if wanted is None or actual is None:
        return wanted is actual is None
    if isinstance(wanted, IPv4Network):
        return IPv4Address(actual) in wanted
    if "re" in modifiers:
        flags = [{"i": re.IGNORECASE, "s": re.DOTALL}[each] for each in modifiers if each in "is"]
        return re.search(wanted, actual, sum(flags)) is not None
    for name, test in {
        "lt": int.__lt__,
        "lte": int.__le__,
        "gt": int.__gt__,
        "gte": int.__ge__,
    }.items():
        if name in modifiers:
            return test(actual, wanted)
    if not isinstance(wanted, str):
        return bool(actual == wanted)
    pattern = "".join(map(_regular, re.findall(r"\\[*?\\]|.", wanted, re.DOTALL)))
    before = ".*" if {"contains", "endswith"} & {*modifiers} else ""
    behind = ".*" if {"contains", "startswith"} & {*modifiers} else ""
    flags = re.DOTALL if "cased" in modifiers else re.DOTALL | re.IGNORECASE
    return re.fullmatch(before + pattern + behind, actual, flags) is not None


def _regular(sign: str) -> str:
    """A sign of a text as a regular expression: a wildcard, or its own meaning."""
    return {"*": ".*", "?": "."}.get(sign, re.escape(sign[-1]))


# ---------------------------------------------------------------- correlations


def _correlated(correlation: Mapping[str, Any], found: Mapping[str, list[Found]]) -> list[Found]:
    length = int(correlation["timespan"][:-1]) * SECONDS[correlation["timespan"][-1]]
    names = correlation.get("group-by", [])
    events = list[tuple[Found, str, Fields]]()  # with the rule, and the fields by their aliases
    for place, rule in enumerate(correlation["rules"]):
        for each in found[rule]:
            aliases = correlation.get("aliases", {})
            fields = {name: each.fields.get(aliases.get(name, {}).get(rule, name))
                      for name in {*names, *_counted(correlation)}}  # fmt: skip
            placed = Found(each.time, (place, *each.order), fields)
            if all(fields[name] is not None for name in names):
                events.append((placed, rule, fields))
    events.sort(key=lambda each: each[0].key)

    def groups(fields: Fields) -> dict[str, Any]:
        return {name: fields[name] for name in names}

    results = []
    for n, (first, _, fields) in enumerate(events):
        frame = [
            each for each in events[n:]
            if each[0].time < first.time + length and each[2].items() >= groups(fields).items()
        ]  # fmt: skip
        last = _last(correlation, frame)
        if last is not None:
            results.append(Found(last.time, (), groups(fields)))
    return results


def _counted(correlation: Mapping[str, Any]) -> list[str]:
    condition = correlation.get("condition", {})
    return [condition["field"]] if "field" in condition else []


def _last(
    correlation: Mapping[str, Any], frame: Sequence[tuple[Found, str, Fields]]
) -> Found | None:
    """The event by which a time frame fulfils the condition that begins with its first event."""
    kind, rules = correlation["type"], correlation["rules"]
    if kind == "temporal_ordered":
        waiting = list(rules)
        for n, (event, rule, _) in enumerate(frame):
            if n == 0 and rule != waiting[0]:
                return None
            if rule == waiting[0]:
                waiting.pop(0)
            if not waiting:
                return event
        return None
    seen: list[Any] = []
    for event, rule, fields in frame:
        what = {
            "event_count": event.key,
            "temporal": rule,
            "value_count": fields.get(*_counted(correlation)) if kind == "value_count" else None,
        }[kind]
        if what is not None and what not in seen:
            seen.append(what)
        elif not seen:
            return None  # it begins with nothing
        if len(seen) >= _wanted(correlation):
            return event
    return None


def _wanted(correlation: Mapping[str, Any]) -> int:
    if correlation["type"] == "temporal":
        return len(correlation["rules"])
    condition = correlation["condition"]
    return max(condition.get("gte", 0), condition.get("gt", -1) + 1)

"""Text that is no rule, and parts without an equal in a script, are named at their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from sase.errors import RuleError
from sase.sigma import script_of

BASE = """title: Base
name: base
id: 5f3c
logsource: {product: test}
detection: {s: {user: ann}, condition: s}
"""
COUNT = "{type: event_count, rules: [base], group-by: [user], timespan: 5m, condition: {gte: 2}}"


def detection(text: str) -> str:
    return f"title: A\nname: a\nlogsource: {{product: test}}\ndetection: {{{text}}}\n"


def search(text: str) -> str:
    return detection(f"s: {{{text}}}, condition: s")


def correlation(old: str = "", new: str = "", more: str = "") -> str:
    assert old in COUNT
    return f"{BASE}---\ntitle: C\nname: c\ncorrelation: {COUNT.replace(old, new)}\n{more}"


def messages(text: str) -> list[str]:
    """Of each error `line:column code: message`, and its hints."""
    with pytest.raises(RuleError) as raised:
        script_of([(text, "rules.yml")])
    return [
        line
        for each in raised.value.diagnostics
        for line in (
            f"{each.line}:{each.column} {each.code}: {each.message}",
            *(f"= {hint}" for hint in each.hints),
        )
    ]


NO_EQUAL = {
    "a placeholder": (search("user|expand: '%admins%'")),
    "an address in a network of IPv6": (search("ip|cidr: 'fe80::/10'")),
    "a keyword": (detection("s: [mimikatz], condition: s")),
    "keywords, all of them": (search("'|all': [a, b]")),
    "an encoded keyword": (search("'|base64': a")),
    "a look-ahead": (search("a|re: '(?!x)a'")),
    "an old aggregation": (detection("s: {a: 1}, condition: s | count() by user > 5")),
    "an old time frame": (detection("s: {a: 1}, timeframe: 5m, condition: s")),
    "several values that it is not": (search("a|neq: [1, 2]")),
    "a number of many digits": (search(f"a: 0x{'f' * 5000}")),
    "bytes": (search("a: !!binary aGVsbG8=")),
    "a call": (search('a: !!python/object/apply:os.system ["id"]')),
    "merged keys": (search("<<: {a: 1}")),
    "a number that is none": (search("a: .nan")),
    "a filter": (f"{BASE}---\ntitle: F\nfilter: {{rules: [base]}}\n"),
    "an action": ("action: global\ntitle: A\n"),
    "another part of the document": ("title: &t A\nname: *t\n"),
    "too few events": (correlation("gte", "lt")),
    "so many events": (correlation("gte: 2", "eq: 2")),
    "a range": (correlation("gte: 2", "gte: 2, lte: 5")),
    "too many values": (
        correlation("event_count", "value_count").replace("gte: 2", "gte: 63, field: ip")),
    "another type": (correlation("event_count", "value_avg")),
    "a misspelled type": (correlation("event_count", "event-count")),
    "another key": (correlation("group-by", "group_by")),
    "months": (correlation("5m", "5M")),
    "a part of the rules": (correlation("event_count", "temporal").replace("gte: 2", "gte: 0")),
    "one rule without another": (
        correlation("event_count", "temporal").replace("{gte: 2}", "not base")),
    "a field by which the rule below does not group": (
        correlation() + "---\ntitle: D\ncorrelation: {type: temporal, rules: [c, base],"
        " group-by: [ip], timespan: 1h}\n"),
    "one alias for two fields": (
        correlation("group-by: [user]", "group-by: [who], aliases: {who: {base: user}}")
        + "---\ntitle: D\ncorrelation: {type: temporal, rules: [base], group-by: [who],"
        " aliases: {who: {base: ip}}, timespan: 1h}\n"),
}  # fmt: skip

NO_RULE = {
    "no YAML": ("title: ["),
    "a control character": ("title: \x01"),
    "a text": ("just text"),
    "a key twice": ("title: A\ntitle: B\n"),
    "no title": ("name: a\n"),
    "neither of both": ("title: A\n"),
    "two rules of one name": (f"{BASE}---\n{BASE}"),
    "no condition": (detection("s: {a: 1}")),
    "an unknown search": (detection("s: {a: 1}, condition: s and t")),
    "no such searches": (detection("s: {a: 1}, condition: 1 of t*")),
    "an open bracket": (detection("s: {a: 1}, condition: (s")),
    "two searches without a word between": (detection("s: {a: 1}, condition: s s")),
    "an empty list": (search("a: []")),
    "a search without fields": (detection("s: {}, condition: s")),
    "a text that is compared": (search("a|gt: x")),
    "existence of a number": (search("a|exists: 1")),
    "modifiers that exclude each other": (search("a|contains|endswith: x")),
    "an encoding without base64": (search("a|wide|contains: x")),
    "a flag without a regular expression": (search("a|i: x")),
    "base64 of a number": (search("a|base64: 1")),
    "base64 of a wildcard": (search("a|base64offset|contains: 'x*'")),
    "a list in a list": (search("a: [[1]]")),
    "no type": (correlation("type: event_count, ")),
    "no condition of a count": (correlation(", condition: {gte: 2}")),
    "a condition without a number": (correlation("gte: 2")),
    "a number that is a text": (correlation("gte: 2", "gte: two")),
    "no event": (correlation("gte: 2", "gte: 0")),
    "a field of event_count": (correlation("gte: 2", "gte: 2, field: ip")),
    "no field": (correlation("event_count", "value_count")),
    "a time span without a unit": (correlation("5m", "5")),
    "an unknown rule": (correlation("[base]", "[bass]")),
    "a rule twice": (correlation("[base]", "[base, 5f3c]")),
    "an alias without the rule": (
        correlation("group-by: [user]", "group-by: [who], aliases: {who: {other: user}}")),
    "a circle": (
        "title: X\nname: x\ncorrelation: {type: temporal, rules: [y], timespan: 1h}\n---\n"
        "title: Y\nname: y\ncorrelation: {type: temporal, rules: [x], timespan: 1h}\n"),
    "a rule that is called as a log source": (BASE.replace("name: base", "name: test")),
    "deep brackets": ("title: " + "[" * 700 + "]" * 700),
    "deep brackets of a condition": (
        detection(f"s: {{a: 1}}, condition: '{'(' * 200}s{')' * 200}'")),
}  # fmt: skip


# Under the name of each its messages.
TEXT = (Path(__file__).parents[1] / "data" / "sigma_errors.txt").read_text()
EXPECTED = {
    name: messages.splitlines()
    for name, _, messages in (each.partition("\n") for each in TEXT.split("=== ")[1:])
}
CASES = {**NO_EQUAL, **NO_RULE}


@pytest.mark.parametrize(("name", "text"), CASES.items(), ids=CASES)
def test_each_is_said_at_its_place(name: str, text: str) -> None:
    assert messages(text) == EXPECTED[name]


def test_what_is_refused_has_the_code_that_says_why() -> None:
    assert all("sigma-no-equal: " in EXPECTED[name][0] for name in NO_EQUAL)
    assert not any("sigma-no-equal: " in EXPECTED[name][0] for name in NO_RULE)


def test_a_pattern_of_names_takes_time_in_its_length() -> None:
    """With a regular expression it never ended."""
    name, pattern = "a" * 100, "a*" * 40
    rule = detection(f"{name}: {{f: 1}}, condition: 1 of {pattern}")
    assert "e.f = 1" in script_of([(rule, "rule")])
    with pytest.raises(RuleError, match="no search is called"):
        script_of([(rule.replace(pattern, f"{pattern}b"), "rule")])


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [("a*", "ab abb"), ("*b", "ab abb b"), ("a*b", "ab abb"), ("*b*b", "abb"), ("*", "ab abb b"),
     ("ab*b", "abb"), ("abb*b", ""), ("ab", "ab")],
)  # fmt: skip
def test_the_names_of_a_pattern(pattern: str, fitting: str) -> None:
    searches = ", ".join(f"{name}: {{f: {name}}}" for name in ("ab", "abb", "b"))
    rule = detection(f"{searches}, condition: all of {pattern}")
    if not fitting:
        with pytest.raises(RuleError, match="no search is called"):
            script_of([(rule, "rule")])
        return
    script = script_of([(rule, "rule")])
    assert [n for n in ("ab", "abb", "b") if f"'{n}'" in script] == fitting.split()

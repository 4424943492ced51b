"""Text that is no rule, and parts without an equal in a script, are named at their places."""

from __future__ import annotations

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
    "a regular expression": (
        search("user|re: 'a.*'")),
    "an address in a network": (search("ip|cidr: 10.0.0.0/8")),
    "a keyword": (detection("s: [mimikatz], condition: s")),
    "keywords, all of them": (search("'|all': [a, b]")),
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
    "deep brackets": ("title: " + "[" * 2000 + "]" * 2000),
    "deep brackets of a condition": (
        detection(f"s: {{a: 1}}, condition: '{'(' * 200}s{')' * 200}'")),
}  # fmt: skip


EXPECTED = {
    "a regular expression": [
        "4:17 sigma-no-equal: the modifier re has no equal in a script",
    ],
    "an address in a network": [
        "4:17 sigma-no-equal: the modifier cidr has no equal in a script",
    ],
    "a keyword": [
        "4:17 sigma-no-equal: a search in the whole message has no equal in a script",
        "= name the fields that may have it",
    ],
    "keywords, all of them": [
        "4:17 sigma-no-equal: a search in the whole message has no equal in a script",
        "= name the fields that may have it",
    ],
    "an old aggregation": [
        "4:35 sigma-no-equal: an aggregation behind `|` has no equal in a script",
        "= write a correlation of this rule",
    ],
    "an old time frame": [
        "4:35 sigma-no-equal: a time frame of a detection has no equal in a script",
        "= write a correlation",
    ],
    "several values that it is not": [
        "4:24 sigma-no-equal: `neq` of several values may mean any of them, or all",
    ],
    "a number that is none": [
        "4:20 sigma-no-equal: there is no number .nan in a script",
    ],
    "a number of many digits": [
        f"4:20 sigma-no-equal: there is no number 0x{'f' * 57}… in a script",
    ],
    "bytes": [
        "4:20 sigma-no-equal: a value with the tag tag:yaml.org,2002:binary has no equal in a"
        " script",
    ],
    "a call": [
        "4:20 sigma-no-equal: a value with the tag tag:yaml.org,2002:python/object/apply:os.system"
        " has no equal in a script",
    ],
    "merged keys": [
        "4:17 sigma-no-equal: `<<` refers to keys of another part",
    ],
    "a filter": [
        "8:9 sigma-no-equal: a filter of other rules has no equal in a script",
    ],
    "an action": [
        "1:9 sigma-no-equal: an action on the documents that follow has no equal in a script",
    ],
    "another part of the document": [
        "2:7 sigma-no-equal: *t refers to another part of the document",
        "= write that part out here",
    ],
    "too few events": [
        "9:97 sigma-no-equal: `lt` asks for the end of a time frame, and here it has none",
        "= `gte` and `gt` have an equal",
    ],
    "so many events": [
        "9:97 sigma-no-equal: `eq` asks for the end of a time frame, and here it has none",
        "= `gte` and `gt` have an equal",
    ],
    "a range": [
        "9:106 sigma-no-equal: `lte` asks for the end of a time frame, and here it has none",
        "= `gte` and `gt` have an equal",
    ],
    "too many values": [
        "9:92 sigma-no-equal: a pattern has at most 62 components, and this takes 63",
    ],
    "another type": [
        "9:21 sigma-no-equal: a correlation of the type value_avg has no equal in a script",
        "= there are: event_count, value_count, temporal, temporal_ordered",
    ],
    "a misspelled type": [
        "9:21 sigma-no-equal: a correlation of the type event-count has no equal in a script",
        "= there are: event_count, value_count, temporal, temporal_ordered",
    ],
    "another key": [
        "9:59 sigma-no-equal: group_by of a correlation has no equal in a script",
        "= did you mean `group-by`?",
    ],
    "months": [
        "9:77 sigma-no-equal: a timespan in M has no equal in a script",
        "= there are: s, m, h, d, w",
    ],
    "a part of the rules": [
        "9:89 sigma-no-equal: only that all rules find something has an equal in a script",
        "= leave the condition out for that",
    ],
    "one rule without another": [
        "9:89 sigma-no-equal: only that all rules find something has an equal in a script",
        "= leave the condition out for that",
    ],
    "a field by which the rule below does not group": [
        "12:60 sigma-no-equal: c does not group by ip: its events may differ in it",
    ],
    "one alias for two fields": [
        "12:57 sigma-no-equal: of base, who means user elsewhere",
        "= give the alias another name",
    ],
    "no YAML": [
        "1:9 sigma-yaml: this is no YAML: expected the node content, but found '<stream end>'",
    ],
    "a control character": [
        "1:8 sigma-yaml: this is no YAML: special characters are not allowed",
    ],
    "a text": [
        "1:1 sigma-rule: a rule should be keys with values",
    ],
    "a key twice": [
        "2:1 sigma-rule: the key title is here twice",
    ],
    "no title": [
        "1:1 sigma-rule: a rule has a title, and this has none",
    ],
    "neither of both": [
        "1:1 sigma-rule: a rule has a detection or a correlation",
    ],
    "two rules of one name": [
        "7:1 sigma-rule: two rules are called base",
    ],
    "no condition": [
        "4:12 sigma-rule: a detection has a condition, and this has none",
    ],
    "an unknown search": [
        "4:35 sigma-rule: the condition names t, which is not there",
    ],
    "no such searches": [
        "4:35 sigma-rule: no search is called t*",
    ],
    "an open bracket": [
        "4:35 sigma-rule: the end is not expected in this condition",
    ],
    "two searches without a word between": [
        "4:35 sigma-rule: s is not expected in this condition",
    ],
    "an empty list": [
        "4:20 sigma-rule: this list is empty",
    ],
    "a search without fields": [
        "4:16 sigma-rule: this search has no fields",
    ],
    "a text that is compared": [
        "4:23 sigma-rule: this modifier compares with a number",
    ],
    "existence of a number": [
        "4:27 sigma-rule: `exists` is true or false",
    ],
    "modifiers that exclude each other": [
        "4:17 sigma-rule: these modifiers do not go together",
    ],
    "a list in a list": [
        "4:21 sigma-rule: a value is expected here, and not several",
    ],
    "no type": [
        "9:14 sigma-rule: a correlation has `type`, and this has none",
    ],
    "no condition of a count": [
        "9:21 sigma-rule: a correlation that counts has a condition, and this has none",
    ],
    "a condition without a number": [
        "9:92 sigma-rule: the condition lacks `gte` or `gt`",
    ],
    "a number that is a text": [
        "9:98 sigma-rule: a whole number is expected here",
    ],
    "no event": [
        "9:92 sigma-rule: this condition holds without any event",
    ],
    "a field of event_count": [
        "9:108 sigma-rule: a condition of this type has no `field`",
    ],
    "no field": [
        "9:92 sigma-rule: the condition lacks the `field`",
    ],
    "a time span without a unit": [
        "9:77 sigma-rule: a timespan is a number and a letter, such as 90m",
    ],
    "an unknown rule": [
        "9:42 sigma-rule: there is no rule bass",
        "= did you mean `base`?",
    ],
    "a rule twice": [
        "9:48 sigma-rule: the rule 5f3c is here twice",
    ],
    "an alias without the rule": [
        "9:60 sigma-rule: the alias who does not say which field of base it means",
    ],
    "a circle": [
        "7:39 sigma-rule: these correlations refer in a circle: x → y → x",
        "3:39 sigma-rule: these correlations refer in a circle: y → x → y",
    ],
    "a rule that is called as a log source": [
        "1:1 sigma-rule: a rule and the log source of this rule are both called test",
        "= give the rule another `name`",
    ],
    "deep brackets": [
        "1:1 sigma-yaml: brackets are nested too deeply here",
    ],
    "deep brackets of a condition": [
        "4:35 sigma-rule: more than 100 brackets in brackets",
    ],
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

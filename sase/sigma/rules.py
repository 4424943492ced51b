"""The rules in documents: detections of events, and correlations of other rules' results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sase.errors import Diagnostic, RuleError
from sase.nearest import did_you_mean
from sase.sigma.documents import YamlPart

CORRELATION = ("type", "rules", "group-by", "timespan", "condition", "aliases", "generate")
# Other documents of Sigma collections, which change the meaning of rules.
OTHERS = {"filter": "a filter of other rules", "action": "an action on the documents that follow"}


@dataclass(frozen=True)
class Rule:
    """The properties of all rules; `name` is that of the rule's stream."""

    name: str
    title: str
    level: str | None
    keys: tuple[str, ...]  # names that other rules use for it
    place: YamlPart


@dataclass(frozen=True)
class Detection(Rule):
    """A rule about one event; `fields` are worth showing."""

    log_source: str
    detection: YamlPart
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Correlation(Rule):
    """A rule about the results of other rules."""

    kind: YamlPart
    rules: tuple[YamlPart, ...]
    group_by: tuple[YamlPart, ...]
    timespan: YamlPart
    condition: YamlPart | None
    aliases: Mapping[str, Mapping[str, str]]  # alias → rule → field

    @property
    def group_names(self) -> dict[str, None]:
        """The names in `group-by`, in order."""
        return dict.fromkeys(part.text("the name of a field") for part in self.group_by)

    def field(self, alias: YamlPart, rule: Rule) -> str:
        """The field of a rule's events for a name in `group-by` or `field`."""
        name = alias.text("the name of a field")
        if name not in self.aliases:
            return name
        for key in (rule.name, *rule.keys):
            if key in self.aliases[name]:
                return self.aliases[name][key]
        raise alias.error(
            "sigma-rule", f"the alias {name} does not say which field of {rule.name} it means"
        )


def read_rules(documents: Iterable[YamlPart]) -> list[Rule]:
    """The rules, with unique names; a RuleError has the problems of all."""
    rules, problems = list[Rule](), list[Diagnostic]()
    taken = dict[str, Rule]()
    for document in documents:
        try:
            rule = _rule(document)
            for key in dict.fromkeys((rule.name, *rule.keys)):
                if key in taken:
                    raise document.error("sigma-rule", f"two rules are called {key}")
                taken[key] = rule
            rules.append(rule)
        except RuleError as problem:
            problems += problem.diagnostics
    if problems:
        raise RuleError(problems)
    return rules


def _rule(document: YamlPart) -> Rule:
    top = document.fields("a rule")
    for key, what in OTHERS.items():
        if key in top:
            raise top[key].error("sigma-no-equal", f"{what} has no equal in a script")
    if "title" not in top:
        raise document.error("sigma-rule", "a rule has a title, and this has none")
    title = top["title"].text("a title")
    keys = tuple(top[key].text(f"the {key}") for key in ("name", "id") if key in top)
    name = top["name"].text("a name") if "name" in top else _stream_name(title)
    level = top["level"].text("a level") if "level" in top else None
    if "correlation" in top:
        return _correlation(Rule(name, title, level, keys, document), top["correlation"])
    if "detection" not in top:
        raise document.error("sigma-rule", "a rule has a detection or a correlation")
    source = _log_source(top["logsource"]) if "logsource" in top else "events"
    fields = top["fields"].items() if "fields" in top else []
    shown = tuple(dict.fromkeys(each.text("the name of a field") for each in fields))
    return Detection(name, title, level, keys, document, source, top["detection"], shown)


def _stream_name(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower()).strip("_") or "rule"


def _log_source(part: YamlPart) -> str:
    """The name of the input for a log source."""
    given = part.fields("a log source")
    names = [given[key].text(f"the {key}") for key in ("product", "category", "service")
             if key in given]  # fmt: skip
    return re.sub(r"\W+", "_", "_".join(names)) or "events"


def _correlation(rule: Rule, part: YamlPart) -> Correlation:
    given = part.fields("a correlation")
    for key, value in given.items():
        if key not in CORRELATION:
            message = f"{key} of a correlation has no equal in a script"
            raise value.error("sigma-no-equal", message, *did_you_mean(key, CORRELATION))
    for key in ("type", "rules", "timespan"):
        if key not in given:
            raise part.error("sigma-rule", f"a correlation has `{key}`, and this has none")
    aliases = given["aliases"].fields("aliases") if "aliases" in given else {}
    return Correlation(
        rule.name, rule.title, rule.level, rule.keys, rule.place,
        kind=given["type"],
        rules=tuple(given["rules"].items()),
        group_by=tuple(given["group-by"].items()) if "group-by" in given else (),
        timespan=given["timespan"],
        condition=given.get("condition"),
        aliases={name: _alias(each) for name, each in aliases.items()},
    )  # fmt: skip


def _alias(part: YamlPart) -> dict[str, str]:
    fields = part.fields("an alias")
    return {rule: field.text("the name of a field") for rule, field in fields.items()}

"""Read the rules in YAML documents; their parts know their positions in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sase.base.texts import did_you_mean
from sase.errors import Diagnostic, RuleError, SchemaError
from sase.source import Source, Span

# ---------------------------------------------------------------- documents

Scalar = str | int | float | bool | None
_TAG = "tag:yaml.org,2002:"
_TAGS = ("str", "int", "float", "bool", "null", "map", "seq")
NUMBERS = (f"{_TAG}int", f"{_TAG}float")
BOOLEAN, NULL = f"{_TAG}bool", f"{_TAG}null"


@dataclass(frozen=True)
class YamlPart:
    """A part of a document: a mapping, a list, or a scalar."""

    node: Any
    source: Source

    @property
    def span(self) -> Span:
        """Its position; only the first line if it has several."""
        start, end = self.node.start_mark.index, self.node.end_mark.index
        return Span(start, max(end, start + 1))

    def error(self, code: str, message: str, *hints: str) -> RuleError:
        """An error at this place."""
        return RuleError([Diagnostic(code, message, self.span, self.source, hints)])

    @property
    def is_mapping(self) -> bool:
        """Whether it is a mapping."""
        return str(self.node.id) == "mapping"

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return str(self.node.id) == "sequence"

    def entries(self) -> Iterator[tuple[YamlPart, YamlPart]]:
        """The keys and values of a mapping; a duplicate key is an error."""
        seen = set[str]()
        for key, value in self.node.value:
            part = YamlPart(key, self.source)
            name = part.text("a key")
            if key.tag == f"{_TAG}merge":
                raise part.error("sigma-no-equal", "`<<` refers to keys of another part")
            if name in seen:
                raise part.error("sigma-rule", f"the key {name} is here twice")
            seen.add(name)
            yield part, YamlPart(value, self.source)

    def fields(self, what: str) -> dict[str, YamlPart]:
        """The values of a mapping by their keys."""
        if not self.is_mapping:
            raise self.error("sigma-rule", f"{what} should be keys with values")
        return {key.node.value: value for key, value in self.entries()}

    def items(self) -> list[YamlPart]:
        """The items of a list; any other part is a list of one, as in Sigma."""
        if not self.is_list:
            return [self]
        if not self.node.value:
            raise self.error("sigma-rule", "this list is empty")
        return [YamlPart(node, self.source) for node in self.node.value]

    @property
    def value(self) -> Scalar:
        """The value of a scalar by YAML 1.1, with dates as texts."""
        if self.node.id != "scalar":
            raise self.error("sigma-rule", "a value is expected here, and not several")
        if self.node.tag == NULL:
            return None
        if self.node.tag in (*NUMBERS, BOOLEAN):
            return _number(self)
        return str(self.node.value)

    def text(self, what: str) -> str:
        """A scalar as text; numbers are accepted."""
        value = self.value
        if value is None or isinstance(value, bool):
            raise self.error("sigma-rule", f"{what} should be a text")
        return str(self.node.value)


def documents(source: Source) -> list[YamlPart]:
    """The documents of a text; raises a RuleError if it is not YAML."""
    yaml = _yaml()
    try:
        _refuse_anchors(source, yaml)
        nodes = list(yaml.compose_all(source.text, yaml.SafeLoader))
    except yaml.YAMLError as problem:
        raise _not_yaml(source, problem) from None
    except RecursionError:
        place = Diagnostic("sigma-yaml", "brackets are nested too deeply here", Span(0, 1), source)
        raise RuleError([place]) from None
    return [YamlPart(node, source) for node in nodes if node.tag != NULL]


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as problem:
        raise SchemaError(
            "rules of Sigma are YAML, and PyYAML is not installed: pip install 'sase[sigma]'"
        ) from problem
    return yaml


def _refuse_anchors(source: Source, yaml: Any) -> None:
    """Refuse anchors, which can expand to documents of any size, and unknown tags."""
    for event in yaml.parse(source.text, yaml.SafeLoader):
        tag = getattr(event, "tag", None)
        if tag not in (None, "!") and tag.removeprefix(_TAG) not in _TAGS:
            place = Span(event.start_mark.index, event.start_mark.index + 1)
            message = f"a value with the tag {tag} has no equal in a script"
            raise RuleError([Diagnostic("sigma-no-equal", message, place, source)])
        if isinstance(event, yaml.AliasEvent):
            place = Span(event.start_mark.index, event.end_mark.index)
            message = f"*{event.anchor} refers to another part of the document"
            hint = "write that part out here"
            raise RuleError([Diagnostic("sigma-no-equal", message, place, source, (hint,))])


def _not_yaml(source: Source, problem: Any) -> RuleError:
    mark = getattr(problem, "problem_mark", None)
    place = mark.index if mark else getattr(problem, "position", 0)
    reason = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "it ends"
    message = f"this is no YAML: {reason}"
    return RuleError([Diagnostic("sigma-yaml", message, Span(place, place + 1), source)])


def _number(part: YamlPart) -> Scalar:
    yaml = _yaml()
    construct: Callable[[Any], Scalar] = yaml.SafeLoader("").construct_object
    try:
        return construct(part.node)
    except ValueError as problem:
        raise part.error("sigma-rule", f"this is no number: {problem}") from None


# ---------------------------------------------------------------- rules

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

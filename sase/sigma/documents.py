"""YAML documents of rules whose parts know their positions in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sase.errors import Diagnostic, RuleError, SchemaError
from sase.source import Source, Span

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
                raise part.error("sigma-no-equal", "`<<` stands for keys of another part")
            if name in seen:
                raise part.error("sigma-rule", f"the key {name} stands here twice")
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
            message = f"*{event.anchor} stands for another part of the document"
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

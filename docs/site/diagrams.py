"""Railroad diagrams of the rules of grammar/sase.lark, by sections of the grammar."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import railroad
from lark import Tree
from lark.load_grammar import load_grammar

GRAMMAR = Path(__file__).parents[2] / "grammar" / "sase.lark"
WIDEST = 560  # points of a row of a diagram
_SECTION = re.compile(r"^// -{20,} (.+)$", re.MULTILINE)
_RULE = re.compile(r"^\??(\w+):", re.MULTILINE)
_WORDS = re.compile(r"\(\?ai:([a-z_|]+)\)")
# Alternatives of signs, each a set of characters, or characters with an optional last one.
_SIGNS = re.compile(r"(?:\[(?:\\.|[^\]])+\]|[^\w\[\]()*+|]+)(?:\|(?!$)|$)")


def diagrams(text: str | None = None) -> str:
    """A section of Markdown for each section of the grammar, with a diagram for each rule."""
    return "\n".join(Diagrams(text or GRAMMAR.read_text("utf-8")).markdown())


class Diagrams:
    """The rules and the terminals of a grammar, and their diagrams."""

    def __init__(self, text: str) -> None:
        grammar, _ = load_grammar(text, "sase.lark", [], False)
        self._text = text
        self.rules: dict[str, Any] = {name: tree for name, _, tree, _ in grammar.rule_defs}
        self._terminals: dict[str, Any] = {name: tree for name, (tree, _) in grammar.term_defs}

    def markdown(self) -> Iterator[str]:
        _, *parts = _SECTION.split(self._text)
        for title, rules in zip(parts[::2], parts[1::2], strict=True):
            names = [name for name in _RULE.findall(rules) if name in self.rules]
            yield from ([f"## {title[0].upper()}{title[1:]}\n"] if names else ())
            for name in names:
                yield f"### {shown(name)} {{ #{name} }}\n"
                yield f'<div class="railroad">{self.svg(name)}</div>\n'

    def svg(self, rule: str) -> str:
        """The diagram of a rule as SVG."""
        out = io.StringIO()
        railroad.Diagram(self.item(self.rules[rule]), css=None).writeSvg(out.write)
        return out.getvalue().replace("\n", "")

    def item(self, tree: Any) -> railroad.DiagramItem:
        """The diagram of a part of a rule."""
        match tree.data, tree.children:
            case "expansions", parts:
                found = [self.item(part) for part in parts]
                return found[0] if len(found) == 1 else railroad.Choice(0, *found)
            case "expansion", parts:
                return self._sequence(parts)
            case "alias", [part, *_]:
                return self.item(part)
            case "maybe", [part]:
                return railroad.Optional(self.item(part))
            case "expr", [part, "?"]:
                return railroad.Optional(self.item(part))
            case "expr", [part, "*"]:
                return railroad.ZeroOrMore(self.item(part))
            case "expr", [part, "+"]:
                return railroad.OneOrMore(self.item(part))
            case "value", [symbol]:
                return self._symbol(symbol)
        raise ValueError(f"there is no diagram of {tree}")

    def _sequence(self, parts: list[Any]) -> railroad.DiagramItem:
        """Parts one after another; `a ("," a)*` is a repetition with a comma on the way back."""
        found, at = list[railroad.DiagramItem](), 0
        while at < len(parts):
            separator = at + 1 < len(parts) and _separator(parts[at], parts[at + 1])
            if separator:
                found.append(railroad.OneOrMore(self.item(parts[at]), self.item(separator)))
            else:
                found.append(self.item(parts[at]))
            at += 2 if separator else 1
        return found[0] if len(found) == 1 else _in_rows(found)

    def _symbol(self, symbol: Any) -> railroad.DiagramItem:
        if getattr(symbol, "data", None) == "literal":
            return railroad.Terminal(symbol.children[0].value[1:-1])
        if symbol.name in self.rules:
            return railroad.NonTerminal(shown(symbol.name), href=f"#{symbol.name}")
        words = self.words(symbol.name)
        found = [railroad.Terminal(word) for word in words]
        if not found:
            return railroad.Terminal(symbol.name.lower().replace("_", " "), cls="any")
        return found[0] if len(found) == 1 else railroad.Choice(0, *found)

    def words(self, terminal: str) -> list[str]:
        """The keywords or signs of a terminal, none if it has a form, such as a number."""
        (token,) = self._terminals[terminal].scan_values(lambda value: True)
        text = token.value.rpartition(token.value[0])[0][1:]
        if token.type == "STRING":
            return [text]
        if words := _WORDS.match(text):
            upper = terminal != "STRATEGY"
            return [word.upper() if upper else word for word in words[1].split("|")]
        if "".join(sign[0] for sign in _SIGNS.finditer(text)) != text:
            return []
        return [_sign(sign[0].removesuffix("|")) for sign in _SIGNS.finditer(text)]


def _sign(pattern: str) -> str:
    """The usual one of the signs that a pattern matches: the first, without an optional end."""
    first = re.sub(r"^\[\\?(.).*\]$", r"\1", pattern) if len(pattern) > 1 else pattern
    return re.sub(r".\?$", "", first)


def _in_rows(items: list[railroad.DiagramItem]) -> railroad.DiagramItem:
    """Items one after another, in several rows if one would be too wide for a page."""
    rows, width = [list[railroad.DiagramItem]()], 0
    for each in items:
        if width + each.width > WIDEST and rows[-1]:
            rows.append([])
            width = 0
        rows[-1].append(each)
        width += each.width + 20
    sequences = [railroad.Sequence(*row) for row in rows]
    return sequences[0] if len(rows) == 1 else railroad.Stack(*sequences)


def _separator(first: Any, rest: Any) -> Any:
    """The separator if `rest` repeats it and `first`."""
    repeated = rest.children[0] if rest.data == "expr" and rest.children[1] == "*" else None
    match repeated:
        case Tree(data="expansions", children=[Tree(children=[separator, again])]):
            return separator if again == first else None
    return None


def shown(rule: str) -> str:
    """The name of a rule as words."""
    return rule.strip("_").replace("_", " ")

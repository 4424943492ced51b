"""A script laid out over lines, with the comments of its text kept where they belong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sase.lang import ast
from sase.lang.parser import parse_script
from sase.lang.printer import (
    LEVELS,
    bracketed,
    condition_text,
    qualification,
    strategy_text,
    to_text,
)
from sase.lang.tables import parser

WIDTH = 88
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output and the offset in the source of what it begins with."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the source; one that follows something on its line is trailing."""

    text: str
    start: int
    trailing: bool


def format_text(text: str, name: str = "query") -> str:
    """A script in its standard layout, ending with a line end."""
    formatted = _formatted(text, name)
    # A comment that moves to the end of its line may leave room to join what it kept apart.
    while formatted != (text := _formatted(formatted, name)):
        formatted = text
    return formatted


def _formatted(text: str, name: str) -> str:
    script = parse_script(text, name)
    comments = list(_comments(text))
    lines = _woven(list(_script(script, [comment.start for comment in comments])), comments)
    return "\n".join(line.rstrip() for line in lines) + "\n"


# ---------------------------------------------------------------- lines


def _script(script: ast.Script, breaks: list[int]) -> Iterator[Line]:
    for place, statement in enumerate(script.statements):
        if place:
            yield Line("", statement.span.start)
        lines = list(_statement(statement, breaks))
        if place < len(script.statements) - 1:
            lines[-1] = replace(lines[-1], text=lines[-1].text + ";")
        yield from lines


def _statement(statement: ast.Statement, breaks: list[int]) -> Iterator[Line]:
    if statement.stream:
        yield Line(f"CREATE STREAM {to_text(statement.stream)} AS", statement.span.start)
    query = statement.query
    if query.sources:
        names = ", ".join(map(to_text, query.sources))
        yield Line(f"FROM {names}", query.sources[0].span.start)
    yield from _pattern(query.pattern, breaks)
    yield from _where(query, breaks)
    if query.window:
        yield Line(f"WITHIN {to_text(query.window)}", query.window.span.start)
    if query.confidence:
        yield Line(f"WITH {to_text(query.confidence)}", query.confidence.span.start)
    if query.having is not None:
        yield from _condition("HAVING ", query.having, "", breaks)
    if query.output:
        yield from _output(query.output, breaks)
    if query.limit is not None:
        yield Line(f"LIMIT {to_text(query.limit)}", query.limit.span.start)


def _fits(text: str, node: ast.Node, breaks: list[int]) -> bool:
    """Whether a text may stay on one line: it is short, and no comment stands inside it."""
    start, end = node.span
    return len(text) <= WIDTH and not any(start < place < end for place in breaks)


def _pattern(pattern: ast.Pattern, breaks: list[int]) -> Iterator[Line]:
    text = f"EVENT {to_text(pattern)}"
    match pattern:
        case ast.Sequence(parts=parts) if not _fits(text, pattern, breaks):
            yield Line("EVENT SEQ(", pattern.span.start)
            yield from _items(parts)
            yield Line(")", pattern.span.end - 1)
        case _:
            yield Line(text, pattern.span.start)


def _items(nodes: tuple[ast.Node, ...]) -> Iterator[Line]:
    for place, node in enumerate(nodes):
        comma = "," if place < len(nodes) - 1 else ""
        yield Line(f"{INDENT}{to_text(node)}{comma}", node.span.start)


def _where(query: ast.Query, breaks: list[int]) -> Iterator[Line]:
    if query.strategy is None:
        if query.where is not None:
            yield from _condition("WHERE ", query.where, "", breaks)
        return
    text = f"WHERE {qualification(query)}"
    if query.where is None or (len(text) <= WIDTH and _fits(text, query.where, breaks)):
        yield Line(text, query.strategy.span.start)
        return
    yield Line(f"WHERE {strategy_text(query)} {{", query.strategy.span.start)
    yield from _condition("", query.where, INDENT, breaks)
    yield Line("}", query.where.span.end)


def _condition(
    lead: str, condition: ast.Expression, indent: str, breaks: list[int]
) -> Iterator[Line]:
    """A condition after its keyword: one line, or an operand of AND or OR a line."""
    text = f"{indent}{lead}{condition_text(condition)}"
    if not isinstance(condition, ast.And | ast.Or) or _fits(text, condition, breaks):
        yield Line(text, condition.span.start)
        return
    word = "AND " if isinstance(condition, ast.And) else "OR "
    deeper = indent + INDENT if lead else indent
    for place, operand in enumerate(condition.operands):
        start = indent + lead if place == 0 else deeper + word
        one_line = start + bracketed(operand, LEVELS[type(condition)] + 1)
        if _fits(one_line, operand, breaks) or not isinstance(operand, ast.And | ast.Or):
            yield Line(one_line, operand.span.start)
            continue
        # Brackets on the lines around it: the operand is itself an AND or an OR.
        yield Line(f"{start}(", operand.span.start)
        yield from _condition("", operand, deeper + INDENT, breaks)
        yield Line(f"{deeper})", operand.span.end)


def _output(output: ast.Output, breaks: list[int]) -> Iterator[Line]:
    text = f"RETURN {to_text(output)}"
    start = output.span.start
    if _fits(text, output, breaks):
        yield Line(text, start)
        return
    if output.type_name:
        yield Line(f"RETURN {to_text(output.type_name)}(", start)
        yield from _items(output.items)
        yield Line(")", output.span.end - 1)
        return
    yield Line("RETURN", start)
    yield from _items(output.items)


# ---------------------------------------------------------------- comments


def _comments(text: str) -> Iterator[Comment]:
    for token in parser().lex(text, dont_ignore=True):
        if token.type == "COMMENT":
            start = token.start_pos or 0
            before = text[text.rfind("\n", 0, start) + 1 : start]
            yield Comment(token.rstrip(), start, trailing=bool(before.strip()))


def _woven(lines: list[Line], comments: list[Comment]) -> Iterator[str]:
    """The lines with each comment at the end of its line, or on its own before the next."""
    waiting = list(comments)
    for place, line in enumerate(lines):
        while waiting and not waiting[0].trailing and waiting[0].start <= line.start:
            yield _indent(line.text) + waiting.pop(0).text
        following = lines[place + 1].start if place + 1 < len(lines) else None
        text = line.text
        own_lines: list[str] = []
        while waiting and (following is None or waiting[0].start < following):
            if not waiting[0].trailing and following is not None:
                break
            comment = waiting.pop(0)
            # Nothing may follow a comment that reaches to the end of its line.
            if comment.trailing and "--" not in text[len(line.text) :] and not own_lines:
                text += f"  {comment.text}"
            else:
                own_lines.append(_indent(line.text) + comment.text)
        yield text
        yield from own_lines


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]

"""Format a script over several lines, keeping its comments in place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from sase.lang import ast
from sase.lang.parser import parse_script
from sase.lang.printer import (
    ATOM,
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
    """A line of output, and the source offset of its first part."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the source; it is trailing if other text precedes it on its line."""

    text: str
    start: int
    trailing: bool


@dataclass(frozen=True, slots=True)
class Marks:
    """Positions of comments and brackets in the source, which decide where lines break.

    Brackets are listed by sign; all positions are in source order.
    """

    comments: list[Comment]
    brackets: dict[str, list[int]]

    def comment_between(self, start: int, end: int) -> bool:
        """Whether a comment begins between two offsets."""
        place = bisect_right(self.comments, start, key=lambda comment: comment.start)
        return place < len(self.comments) and self.comments[place].start < end

    def opening(self, offset: int) -> int:
        """The last opening bracket before an offset."""
        places = self.brackets["("]
        return places[bisect_left(places, offset) - 1]

    def closing(self, offset: int, sign: str = ")") -> int:
        """The first closing bracket from an offset on."""
        places = self.brackets[sign]
        return places[bisect_left(places, offset)]


def format_text(text: str, name: str = "query") -> str:
    """A script in the standard layout, with a final line end."""
    formatted = _formatted(text, name)
    # A comment that moves to the end of its line may allow lines to be joined, so repeat.
    while formatted != (text := _formatted(formatted, name)):
        formatted = text
    return formatted


def _formatted(text: str, name: str) -> str:
    script = parse_script(text, name)
    marks = _marks(text)
    lines = _woven(list(_script(script, marks)), marks.comments)
    return "\n".join(line.rstrip() for line in lines) + "\n"


# ---------------------------------------------------------------- lines


def _script(script: ast.Script, marks: Marks) -> Iterator[Line]:
    for place, statement in enumerate(script.statements):
        if place:
            yield Line("", statement.span.start)
        lines = list(_statement(statement, marks))
        lines[0] = replace(lines[0], start=statement.span.start)
        if place < len(script.statements) - 1:
            lines[-1] = replace(lines[-1], text=lines[-1].text + ";")
        yield from lines


def _statement(statement: ast.Statement, marks: Marks) -> Iterator[Line]:
    if statement.stream:
        yield Line(f"CREATE STREAM {to_text(statement.stream)} AS", statement.span.start)
    query = statement.query
    if query.sources:
        names = ", ".join(map(to_text, query.sources))
        yield Line(f"FROM {names}", query.sources[0].span.start)
    yield from _pattern(query.pattern, marks)
    yield from _where(query, marks)
    if query.window:
        yield Line(f"WITHIN {to_text(query.window)}", query.window.span.start)
    if query.confidence:
        yield Line(f"WITH {to_text(query.confidence)}", query.confidence.span.start)
    if query.having is not None:
        yield from _condition("HAVING ", query.having, "", marks)
    if query.output:
        yield from _output(query.output, marks)
    if query.limit is not None:
        yield Line(f"LIMIT {to_text(query.limit)}", query.limit.span.start)


def _fits(text: str, start: int, end: int, marks: Marks) -> bool:
    """Whether a text can stay on one line: it is short, without comments inside."""
    return len(text) <= WIDTH and not marks.comment_between(start, end)


def _pattern(pattern: ast.Pattern, marks: Marks) -> Iterator[Line]:
    text = f"EVENT {to_text(pattern)}"
    match pattern:
        case ast.Sequence(parts=parts) if not _fits(text, *pattern.span, marks):
            yield Line("EVENT SEQ(", pattern.span.start)
            yield from _items(parts)
            yield Line(")", pattern.span.end - 1)
        case _:
            yield Line(text, pattern.span.start)


def _items(nodes: tuple[ast.Node, ...]) -> Iterator[Line]:
    for place, node in enumerate(nodes):
        comma = "," if place < len(nodes) - 1 else ""
        yield Line(f"{INDENT}{to_text(node)}{comma}", node.span.start)


def _where(query: ast.Query, marks: Marks) -> Iterator[Line]:
    if query.strategy is None:
        if query.where is not None:
            yield from _condition("WHERE ", query.where, "", marks)
        return
    text = f"WHERE {qualification(query)}"
    start = query.strategy.span.start
    if query.where is None:
        yield Line(text, start)
        return
    end = marks.closing(query.where.span.end, "}")
    if _fits(text, start, end, marks):
        yield Line(text, start)
        return
    yield Line(f"WHERE {strategy_text(query)} {{", start)
    yield from _condition("", query.where, INDENT, marks)
    yield Line("}", end)


def _condition(lead: str, condition: ast.Expression, indent: str, marks: Marks) -> Iterator[Line]:
    """A condition after its keyword: on one line, or a line for each operand of AND or OR."""
    text = f"{indent}{lead}{condition_text(condition)}"
    if not isinstance(condition, ast.And | ast.Or) or (
        len(text) <= WIDTH and not _is_split(condition, marks)
    ):
        yield Line(text, condition.span.start)
        return
    word = "AND " if isinstance(condition, ast.And) else "OR "
    deeper = indent + INDENT if lead else indent
    for place, operand in enumerate(condition.operands):
        start = indent + lead if place == 0 else deeper + word
        one_line = start + bracketed(operand, LEVELS[type(condition)] + 1)
        if isinstance(operand, ast.And | ast.Or):
            first, last = _extent(operand, condition, marks)
            if len(one_line) > WIDTH or marks.comment_between(first, last):
                # The operand is an AND or OR itself: brackets on lines of their own.
                yield Line(f"{start}(", first)
                yield from _condition("", operand, deeper + INDENT, marks)
                yield Line(f"{deeper})", last)
                continue
        yield Line(one_line, operand.span.start)


def _extent(operand: ast.Expression, condition: ast.And | ast.Or, marks: Marks) -> tuple[int, int]:
    """The positions of an operand's brackets; without brackets, of its first and last line."""
    if LEVELS.get(type(operand), ATOM) <= LEVELS[type(condition)]:
        return marks.opening(operand.span.start), marks.closing(operand.span.end)
    if isinstance(operand, ast.And | ast.Or):
        return operand.operands[0].span.start, _extent(operand.operands[-1], operand, marks)[1]
    return operand.span.start, operand.span.start


def _is_split(condition: ast.And | ast.Or, marks: Marks) -> bool:
    """Whether a comment precedes the end of a condition, other than inside its last line."""
    _, end = _extent(condition.operands[-1], condition, marks)
    return marks.comment_between(condition.operands[0].span.start, end)


def _output(output: ast.Output, marks: Marks) -> Iterator[Line]:
    text = f"RETURN {to_text(output)}"
    start = output.span.start
    # Without a final bracket, comments after the last column's begin follow it.
    end = output.span.end if output.type_name else output.items[-1].span.start
    if _fits(text, start, end, marks):
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


def _marks(text: str) -> Marks:
    marks = Marks([], {sign: [] for sign in "()}"})
    trailing = False
    for token in parser().lex(text, dont_ignore=True):
        start = token.start_pos or 0
        if token.type == "COMMENT":
            marks.comments.append(Comment(token.rstrip(), start, trailing))
        elif token.type == "WHITESPACE":
            trailing = trailing and "\n" not in token
        else:
            trailing = True
            if token in marks.brackets:
                marks.brackets[str(token)].append(start)
    return marks


def _woven(lines: list[Line], comments: list[Comment]) -> Iterator[str]:
    """The lines, with each comment at the end of its line, or on a line of its own."""
    waiting = deque(comments)
    for line, following in zip_longest(lines, lines[1:]):
        # The blank line between statements precedes comments on the second.
        while line.text and waiting and not waiting[0].trailing and waiting[0].start <= line.start:
            yield _indent(line.text) + waiting.popleft().text
        text, closed = line.text, False
        while waiting and waiting[0].trailing and _belongs(waiting[0], following):
            if closed:  # nothing may follow on the line of such a comment
                waiting[0] = replace(waiting[0], trailing=False)
                break
            closed = waiting[0].text.startswith("--")
            text += f"  {waiting.popleft().text}"
        yield text
    yield from (_indent(lines[-1].text) + comment.text for comment in waiting)


def _belongs(comment: Comment, following: Line | None) -> bool:
    return following is None or comment.start < following.start


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]

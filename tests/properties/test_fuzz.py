"""Any text at all gives a tree or an error of ours, in time, and the caret is at its place."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from sase.errors import Diagnostic, QueryError
from sase.lang.builder import DEEPEST
from sase.lang.layout import format_text
from sase.lang.parser import parse_condition, parse_query, parse_script
from sase.lang.printer import to_text
from sase.source import Source, Span
from tests.properties import trees

Parse: TypeAlias = Callable[[str], Any]
PROFILE = settings().max_examples


def many(factor: int) -> settings:
    """Settings with a multiple of the examples of the profile."""
    return settings(max_examples=factor * PROFILE)


# ---------------------------------------------------------------- rules for every text


def error_of(text: str, parse: Parse) -> QueryError | None:
    """The error of a text, checked; anything but a tree or a `QueryError` fails the test."""
    try:
        parse(text)
    except QueryError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            is_well_formed(diagnostic, text)
        assert str(error).encode("utf-8", "backslashreplace")
        return error
    return None


def is_well_formed(diagnostic: Diagnostic, text: str) -> None:
    """A diagnostic lies inside the text, and its place is right in every form of it."""
    start, end = diagnostic.span
    assert 0 <= start <= end <= len(text)
    assert diagnostic.code and diagnostic.message
    before = text[:start]
    assert diagnostic.line == before.count("\n") + 1
    assert diagnostic.column == start - (before.rfind("\n") + 1) + 1
    data = json.loads(json.dumps(diagnostic.to_dict()))
    assert data["start"] == {"line": diagnostic.line, "column": diagnostic.column, "offset": start}
    assert data["end"]["offset"] == end
    caret_is_under(text, start, diagnostic.source.excerpt(diagnostic.span))
    assert str(diagnostic).encode("utf-8", "backslashreplace")


def caret_is_under(text: str, start: int, excerpt: list[str]) -> None:
    """The first caret has the index of the character that it points at in the line above."""
    shown, carets = excerpt
    assert len(shown.splitlines()) <= 1 and len(carets.splitlines()) <= 1
    place = carets.index("^")
    assert shown.index("|") == carets.index("|")
    assert carets[:place].count("\t") == shown[:place].count("\t")
    character = text[start : start + 1]
    if character and character.isprintable():
        assert shown[place] == character
    elif character == "\t":
        assert shown[place] == "\t"
    elif character not in ("", "\n", "\r"):
        assert shown[place] != character or not character.isspace()


def is_judged(text: str) -> None:
    """A script, a query, a condition, a text to format: each gives a result or an error."""
    refused = error_of(text, parse_script)
    event("refused" if refused else "a script")
    if refused is None:
        script = parse_script(text)
        assert parse_script(to_text(script)) == script
        assert parse_script(format_text(text)) == script
    error_of(text, parse_query)
    if error_of(text, parse_condition) is None:
        condition = parse_condition(text)
        assert parse_condition(to_text(condition)) == condition


# ---------------------------------------------------------------- random texts

SIGNS = [
    "(", ")", "[", "]", "{", "}", ",", ";", ".", "..", ":", "!", "~", "∼", "=", "==", "!=", "<>",
    "≠", "<", "<=", "≤", ">", ">=", "≥", "+", "-", "−", "*", "×", "/", "÷", "%", "?", "∧", "∨",
    "¬", "&&", "||", "'", '"', "‘", "’", "“", "”", "`", "--", "/*", "*/", "\n", " ", "\t", "$",
    "=<", "^", "\\", "#", "\0", "\ufeff", "\u2028", "\u202e", "\ud800",
]  # fmt: skip
THINGS = [
    "a", "x", "b[]", "a[i].p", "a[..i-1]", "a.len", "x.price", "A-B", "`a b`", "שם", "名前", "İ",
    "ſ", "0", "1", "500", "1.5", "1e999", ".5", "80%", "1e", "'text'", "'it''s'", "‘a’",
    "5 minutes", "5 İ", "INTERVAL '-5' MINUTE", "INTERVAL 'x' s", "DATE '2024-01-31'", ":p",
    "SEQ(A a, B b)", "5 % /* c */ x", "80% -- c\n * x",
    "!(B b)", "A+ a[]", "A{2,3}", "avg(a[..i].p)", "[id]", "[id = 'v']", "-- c\n", "/* c */",
    "ſtrict_contiguity", "lıke", "EVENT A", "WHERE x", "strict_contiguity {", "WITHIN 5",
]  # fmt: skip


def tokens() -> st.SearchStrategy[str]:
    """Keywords in any case, signs, names, numbers and quotes."""
    words = trees.keywords()
    cased = [*words, *map(str.upper, words), *map(str.title, words)]
    return st.one_of(*map(st.sampled_from, (SIGNS, THINGS, cased)))


@many(5)
@given(st.text(st.characters(), max_size=60))
@example("")
@example("\0")
@example("EVENT A\0")
@example("\ud800")
@example("\u00a0")
@example("\u3000")
@example("EVENT `\udfff` x")
@example("EVENT A WHERE ſtrict_contiguity { x = 1 }")
@example("EVENT A WHERE skİp_till_any_match { x = 1 }")
@example("EVENT A WHERE x > 5 İm")
@example("EVENT SEQ(שלום עולם, A a) WHERE")
@example("EVENT A -- \u202e abc\n WHERE ) x")
def test_arbitrary_text(text: str) -> None:
    is_judged(text)


@many(6)
@given(st.lists(st.tuples(tokens(), st.sampled_from(["", " ", " "])), max_size=15))
def test_arbitrary_tokens(pieces: list[tuple[str, str]]) -> None:
    is_judged("".join(token + space for token, space in pieces))


@many(3)
@given(st.lists(tokens(), max_size=10))
def test_arbitrary_tokens_after_a_good_beginning(pieces: list[str]) -> None:
    is_judged("EVENT SEQ(A a, B+ b[]) WHERE a.x > " + " ".join(pieces))


PAPERS = [
    "EVENT SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING z) "
    "WHERE x.tag_id = y.tag_id ∧ x.tag_id = z.tag_id WITHIN 12 hours",
    "PATTERN SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match(a[], b) { [symbol] ∧ "
    "a[1].volume > 1000 ∧ a[i].price > avg(a[..i-1].price) ∧ b.volume < 80% * a[a.LEN].volume }"
    " WITHIN 1 hour",
    "EVENT ANY(A, B) x WHERE [attr1, attr2] AND x.name = ‘John’ OR NOT x.a BETWEEN 1 AND -5 % 3 "
    "RETURN Alert(x.a AS a, count(x) AS `n n`)",
    "CREATE STREAM s AS FROM a, b EVENT SET(C c, P+ p[]) OR (SEQ(A a, B b))+ g[] WITHIN 500 "
    "EVENTS PER PARTITION INCLUSIVE WITH CONFIDENCE >= 0.5 HAVING count(p[]) > 2 "
    "RETURN c.(x, y), a.b AS z LIMIT 10; EVENT A WHERE x IN (1, -2.5, 'it''s', NULL) -- end",
    "EVENT A /* a\ncomment */ WHERE x LIKE 'a%' AND t > TIMESTAMP '2024-01-31 12:00' - 5 minutes",
]


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text after a few edits, as a careless hand makes them."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 1, 2, 5, 20])))
        new = draw(st.one_of(tokens(), st.characters(), st.just("")))
        match draw(st.sampled_from(["replace", "insert", "delete", "swap", "cut", "double"])):
            case "replace":
                text = text[:start] + new + text[end:]
            case "insert":
                text = text[:start] + new + text[start:]
            case "delete":
                text = text[:start] + text[end:]
            case "swap":
                text = text[:start] + text[end : end + 1] + text[start:end] + text[end + 1 :]
            case "cut":
                text = text[:start]
            case "double":
                text = text[:end] + text[start:]
    return text


@many(3)
@given(st.data(), st.sampled_from(PAPERS))
def test_queries_of_the_papers_with_random_edits(data: st.DataObject, text: str) -> None:
    is_judged(data.draw(edited(text)))


@many(3)
@given(st.data(), st.one_of(trees.scripts(), trees.expressions(2)))
def test_generated_texts_with_random_edits(data: st.DataObject, tree: Any) -> None:
    is_judged(data.draw(edited(to_text(tree))))


@pytest.mark.parametrize("text", PAPERS)
def test_queries_of_the_papers_cut_off_anywhere(text: str) -> None:
    assert error_of(text, parse_script) is None
    for end in range(0, len(text), 1 if PROFILE > 1000 else 2):
        error_of(text[:end], parse_script)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "-- c", "/* c */", "-- a\n/* b */ -- c\n", ";"])
@pytest.mark.parametrize("parse", [parse_script, parse_query, parse_condition, format_text])
def test_a_text_without_a_query(text: str, parse: Parse) -> None:
    assert error_of(text, parse) is not None


# ---------------------------------------------------------------- depth

# A test that takes seconds at full size has full size in the long profile, or is heavy.
LONG = PROFILE > 1000
MOST = 50_000
MANY = MOST if LONG else 20_000


def nested(
    opening: str, inner: str, closing: str = "", query: bool = False
) -> Callable[[int], str]:
    """Texts of any depth."""
    lead = "EVENT " if query else ""
    return lambda depth: lead + opening * depth + inner + closing * depth


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": nested("(", "x", ")"),
    "not": nested("NOT ", "x"),
    "minus": nested("- ", "x"),
    "minus percent": nested("- ", "80%"),
    "call": nested("f(", "x", ")"),
    "call with two arguments": nested("f(1, ", "x", ")"),
    "sum on the right": nested("(1 + ", "x", ")"),
    "sum on the left": nested("(", "x", " - 1)"),
    "product": nested("(2 * ", "x", ")"),
    "and": nested("(x AND ", "y", ")"),
    "or": nested("(x OR ", "y", ")"),
    "comparison": nested("(1 = ", "x", ")"),
    "in": nested("(", "x", " IN (1))"),
    "between": nested("(x BETWEEN ", "y", " AND z)"),
    "like": nested("(", "x", " LIKE 'a')"),
    "is null": nested("(", "x", " IS NULL)"),
    "group": nested("(", "A", ")", query=True),
    "negated group": nested("!(", "A", ")", query=True),
    "set": nested("SET(", "A", ")", query=True),
}
# Two levels for each piece of text.
TWICE_NESTED: dict[str, Callable[[int], str]] = {
    "and in or": nested("(x AND (y OR ", "z", "))"),
    "not in and": nested("(x AND NOT ", "z", ")"),
    "sequence": nested("(SEQ(", "A", "))", query=True),
    "alternatives": nested("(A OR ", "B", ")", query=True),
    "set in group": nested("(SET(", "A", "))", query=True),
}
DEEP = [(text, DEEPEST) for text in NESTED.values()]
DEEP += [(text, DEEPEST // 2) for text in TWICE_NESTED.values()]
IDS = [*NESTED, *TWICE_NESTED]


def entry(text: str) -> Parse:
    """The parser for a text: scripts here begin with EVENT."""
    return parse_script if text.startswith("EVENT") else parse_condition


@pytest.mark.parametrize(("text", "deepest"), DEEP, ids=IDS)
def test_the_deepest_and_one_deeper(text: Callable[[int], str], deepest: int) -> None:
    parse = entry(text(1))
    tree = parse(text(deepest))
    error = error_of(text(deepest + 1), parse)
    assert error is not None
    assert [diagnostic.code for diagnostic in error.diagnostics] == ["nested-too-deeply"]
    bare_too_deep = text(DEEPEST * 2)
    assert error_of(bare_too_deep, parse) is not None
    if text in (NESTED["parentheses"], NESTED["set"], TWICE_NESTED["sequence"]):
        in_a_thread(lambda: is_handled(tree, text(deepest)))
    else:
        is_handled(tree, text(deepest))


def is_handled(tree: Any, text: str) -> None:
    """Everything that is done with a tree can be done with the deepest."""
    parse = entry(text)
    printed = to_text(tree)
    again = parse(printed)
    assert again == tree
    assert hash(again) == hash(tree)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert repr(again) == repr(tree)
    if parse is parse_script:
        assert parse(format_text(text)) == tree
    else:
        in_query = f"EVENT A WHERE {printed}"
        assert parse_script(format_text(in_query)) == parse_script(in_query)


def in_a_thread(work: Callable[[], None]) -> None:
    """Run something in a thread with a fresh stack, and raise its exceptions."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            raised.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for problem in raised:
        raise problem


FULL = ("parentheses", "negated group")
HEAVY = ("not", "minus", "call", "group")
DEPTHS = [(name, MOST if LONG else MOST // (5 if name in FULL else 25)) for name in IDS]


@pytest.mark.parametrize(
    ("name", "depth"),
    [*DEPTHS, *(pytest.param(name, MOST, marks=pytest.mark.heavy) for name in FULL + HEAVY)],
)
def test_thousands_of_levels(name: str, depth: int) -> None:
    text = (NESTED | TWICE_NESTED)[name]
    error = error_of(text(depth), entry(text(1)))
    assert error is not None and error.diagnostics[0].code == "nested-too-deeply"


@pytest.mark.parametrize(
    "text",
    [
        "(" * MANY,
        "x" + ")" * MANY,
        "[" * MANY,
        "x = f(" * (MANY // 10),
        pytest.param("NOT " * MOST, marks=pytest.mark.heavy),
        pytest.param("- " * MOST, marks=pytest.mark.heavy),
        "-" * MANY,
        "x" + " - " * MANY + "1",
        "{" * MANY,
        "a[" * MANY,
        "EVENT " + "!(" * MANY,
        pytest.param("EVENT " + "SEQ(" * MOST, marks=pytest.mark.heavy),
        "EVENT " + "!" * MANY,
        "EVENT A WHERE " + "(" * MANY + "x",
        "EVENT A WHERE x = " + "'" * (MANY + 1),
    ],
    ids=lambda text: text[:18],
)
def test_thousands_of_something_unclosed(text: str) -> None:
    assert error_of(text, parse_script) is not None
    error_of(text, parse_condition)


# ---------------------------------------------------------------- size

MEGABYTE = 1_000_000
ATOM = "shelf_reading.temperature_in_degrees > 1234567890123456"
AND_CHAIN = " AND ".join([ATOM] * (MEGABYTE // len(ATOM)))


@pytest.mark.heavy
def test_a_megabyte_parses() -> None:
    parse: Parse = parse_condition
    assert len(parse(AND_CHAIN).operands) == MEGABYTE // len(ATOM)
    values = ", ".join(["'a text of twenty characters'"] * (MEGABYTE // 30))
    assert len(parse(f"x IN ({values})").values) == MEGABYTE // 30
    text = "it''s " * (MEGABYTE // 6)
    assert len(parse(f"x = '{text}'").right.value) > MEGABYTE // 2
    comment = "* / " * (MEGABYTE // 4)
    assert error_of(f"EVENT A /*{comment}*/ WHERE x", parse_script) is None
    assert error_of(f"EVENT `{'``a' * (MEGABYTE // 3)}` a", parse_script) is None


DAMAGES = ["=<", "'", "$", "AND", ")", "/*", "`"]


@pytest.mark.heavy
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("at_the_end", [True, False])
def test_a_megabyte_with_one_error(damage: str, at_the_end: bool) -> None:
    full = LONG or (damage == "=<" and at_the_end) or (damage == "'" and not at_the_end)
    chain = AND_CHAIN if full else AND_CHAIN[: AND_CHAIN.index(" AND", MEGABYTE // 10)]
    place = len(chain) if at_the_end else chain.index("AND", len(chain) // 2)
    text = f"{chain[:place]} {damage} {chain[place:]}"
    error = error_of(text, parse_condition)
    assert error is not None
    assert len(str(error)) < 5_000
    assert abs(error.diagnostics[0].span.start - place) < len(ATOM)


@pytest.mark.parametrize(
    "text",
    [
        "EVENT A WHERE x = {}",
        "EVENT A{{{}}} a",
        "EVENT A{{1,{}}} a",
        "EVENT A LIMIT {}",
        "EVENT A WITHIN {} minutes",
        "EVENT A WITHIN {} EVENTS",
        "EVENT A WHERE x < INTERVAL '{}' DAY",
    ],
)
def test_integers_that_are_too_long_are_refused_everywhere(text: str) -> None:
    error = error_of(text.format("1" * 10_000), parse_script)
    assert error is not None and error.diagnostics[0].code == "number-too-long"
    assert error_of(text.format("1" * 10), parse_script) is None


@pytest.mark.parametrize("lead", ["", "x = -", "f(", "x IN ("])
def test_integers_that_are_too_long_are_refused(lead: str) -> None:
    closing = ")" * lead.count("(")
    error = error_of(lead + "1" * 10_000 + closing, parse_condition)
    assert error is not None and error.diagnostics[0].code == "number-too-long"
    assert len(str(error)) < 2_000
    for longer in ("1" * 10_000 + ".5", "1" * 10_000 + "%", "INTERVAL '" + "1" * 10_000 + "' s"):
        error_of(lead + longer + closing, parse_condition)


UNCLOSED: dict[str, Callable[[int], str]] = {
    "comment": lambda size: "EVENT A /* " + "x " * (size // 2),
    "comment of stars": lambda size: "EVENT A /*" + "*" * size,
    "comments that open": lambda size: "EVENT A " + "/* " * (size // 3),
    "stars and signs": lambda size: "EVENT A /* " + "* / " * (size // 4),
    "quote": lambda size: "EVENT A WHERE x = '" + "x " * (size // 2),
    "quote of quotes": lambda size: "EVENT A WHERE x = '" + "''" * (size // 2),
    "quote with pairs": lambda size: "EVENT A WHERE x = '" + "a''" * (size // 3),
    "double quote": lambda size: 'EVENT A WHERE x = "' + "x'" * (size // 2),
    "typographic quote": lambda size: "EVENT A WHERE x = ‘" + "‘ " * (size // 2),
    "backquote": lambda size: "EVENT A `" + "x " * (size // 2),
    "backquotes": lambda size: "EVENT A `" + "``" * (size // 2),
    "digits": lambda size: "EVENT A WHERE " + "1" * size,
    "digits and spaces": lambda size: "EVENT A WHERE x = 1" + " " * size + "$",
    "word": lambda size: "EVENT A WHERE " + "x" * size + " $",
    "hyphens": lambda size: "EVENT " + "a-" * (size // 2),
    "hyphens and words": lambda size: "EVENT " + "a-b" * (size // 3) + "-",
    "blank": lambda size: "EVENT A" + " " * size + "$",
    "lines": lambda size: "EVENT A" + "\n" * size + "$",
    "semicolons": lambda size: "EVENT A" + ";" * size,
    "statements": lambda size: f"EVENT {'A' * 91}; " * (size // 99) + "EVENT $",
    "percent": lambda size: "EVENT A WHERE x = 5% " + "/* */ " * (size // 6) + "$",
    "percents": lambda size: "EVENT A WHERE x = 5" + " %" * (size // 2),
}


@pytest.mark.heavy
@pytest.mark.parametrize("text", UNCLOSED.values(), ids=UNCLOSED)
def test_the_time_of_an_error_does_not_grow_with_the_square(text: Callable[[int], str]) -> None:
    """Four times the text takes about four times as long; a square would make it sixteen."""
    size = MEGABYTE if LONG else MEGABYTE // 5
    small, large = text(size // 4), text(size)
    assert error_of(large, parse_script) is not None
    fast, slow = (min(time_of(part) for _ in range(6)) for part in (small, large))
    assert slow < 10 * fast + 0.05


def time_of(text: str) -> float:
    """The CPU time that refusing a text takes."""
    start = time.process_time()
    with pytest.raises(QueryError):
        parse_script(text)
    return time.process_time() - start


# ---------------------------------------------------------------- the caret

BEFORE = [
    "שלום", "שלום עולם", "مرحبا", "名前", "ｆｕｌｌ", "a\u0301e\u0308", "\t", "a\tb\t", "😀", "½",
    "👩\u200d👩\u200d👧", "🇩🇪", "\u200b", "\u200f", "\u202e", "\u2066", "\x1b[31m", "\x00", "\x07",
    "\x7f", "\x85", "\u2028", "\x0b", "\x0c", "\r", "\ud800", "\ufeff", "\xad", "x" * 300,
    "名" * 200, "שלום" * 50,
]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
def test_the_caret_points_at_the_character(before: str) -> None:
    for lines, after in product(
        ("", "EVENT A\n", "-- שלום\r\n\n\t"), ("", " b", " שלום 名前", " x" * 300)
    ):
        text = f"{lines}  /* {before} */ \u00a7{after}"
        error = error_of(text, parse_script)
        assert error is not None, text
        (diagnostic,) = error.diagnostics
        assert diagnostic.span.start == text.index("\u00a7"), text
        shown, carets = str(diagnostic).split("\n")[2:4]
        assert shown[carets.index("^")] == "\u00a7", text
        assert carets.rstrip("\u202c").endswith("^") and carets.count("^") == 1, text


@many(10)
@given(st.text(st.characters()), st.text(st.characters()), st.integers(1, 5))
def test_the_caret_of_any_place(before: str, after: str, width: int) -> None:
    text = f"{before}\u00a7{after}"
    start = len(before)
    source = Source(text)
    caret_is_under(text, start, source.excerpt(Span(start, min(len(text), start + width))))
    position = source.position(start)
    assert position.line == before.count("\n") + 1
    assert position.column == start - before.rfind("\n")

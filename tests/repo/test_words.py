"""Docs, docstrings, comments and messages do without words that make sentences hard to read.

A refused word hides the thing that a sentence is about. A number of things without the number is
one case, `whose` hides a relation, `asked` and `told` hide a test and its result, `stands` and
`goes` a place and a way. `what` begins a clause in the place of a noun, and the reader waits for
the noun in vain. In a question the word is good English, and headings of pages are often questions,
so pages may have it there. In docstrings, comments and messages a question is no good sentence.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.repo.source import ROOT, Module, example, module, modules

# A text with none of these has no refused word; comments have one only behind the mark of one.
NEEDED = re.compile(r"\b(many|asked|told|stands|goes|whose|what)\b", re.IGNORECASE)
IN_COMMENTS = re.compile(f"#.*{NEEDED.pattern}", re.IGNORECASE)
REFUSED = re.compile(r"\b(so\s+many|asked|told|stands|goes|whose|what)\b", re.IGNORECASE)
# The end of a sentence, a table cell or a paragraph.
END = re.compile(r"[.?!](?=\s|$)|\||\n\s*\n|\n(?=#)|$")
# A name of the code, as docstrings and comments quote it.
NAME = re.compile(r"`[\w.]+`")
# Parts of a page that are not prose: code, shown output and the addresses of links.
FENCED = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4,}.*\n|\n)+")
QUOTED = re.compile(r"`[^`]*`|(?<=\])\([^)\s]*\)")


def docstrings(module: Module) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, those of attributes included."""
    for node in module.nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def comments(module: Module) -> Iterator[tuple[int, str]]:
    """The first line and the text of each comment; lines right below each other are one."""
    if not IN_COMMENTS.search(module.text):
        return
    first, last, texts = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = token.start[0]
        if texts and line > last + 1:
            yield first, "\n".join(texts)
            texts.clear()
        first, last = first if texts else line, line
        texts.append(token.string.lstrip("#"))
    if texts:
        yield first, "\n".join(texts)


def refused_words(module: Module) -> list[str]:
    """The refused words in the docstrings and comments of a module, each with its place."""
    if not NEEDED.search(module.text):
        return []
    texts = [*docstrings(module), *comments(module)]
    return in_texts(module.path, [(line, NAME.sub(blanks, text)) for line, text in texts])


def messages(module: Module) -> list[tuple[int, str]]:
    """The line and the text of each literal of several words that is no docstring.

    These are the parts of errors, hints, help texts and EXPLAIN. Parameters of an f-string are {}.
    """
    aside = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    found = []
    for node in module.nodes:
        match node:
            case ast.JoinedStr(values=parts):
                aside |= {id(part) for part in parts}
                texts = [
                    str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts
                ]
                found.append((node.lineno, "".join(texts)))
            case ast.Constant(value=str(text)) if id(node) not in aside:
                found.append((node.lineno, text))
    return [(line, text) for line, text in found if len(text.split()) > 1]


def in_texts(path: str, texts: Iterable[tuple[int, str]]) -> list[str]:
    """The refused words in texts, each with its line."""
    return [
        f"{path}:{line + text.count(chr(10), 0, word.start())}: {' '.join(word[0].split())}"
        for line, text in texts
        for word in REFUSED.finditer(text)
    ]


def prose(page: str) -> str:
    """A page with blanks in place of code, output, addresses and questions with that word."""
    for part in (FENCED, INDENTED, QUOTED):
        page = part.sub(blanks, page)
    for word in re.finditer(r"\bwhat\b", page, re.IGNORECASE):
        end = END.search(page, word.end())
        if end is not None and end[0] == "?":
            page = page[: word.start()] + "    " + page[word.end() :]
    return page


def every_module() -> tuple[Module, ...]:
    """The modules of the package, of its tests, the experiments and the examples."""
    folders = ("tests", "experiments", "examples")
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return (*modules(), *map(module, paths))


def blanks(part: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", part[0])


def pages() -> list[Path]:
    """All pages, but for those that a program writes."""
    written = ROOT / "experiments" / "results"
    places = (ROOT.glob("*.md"), *((ROOT / name).rglob("*.md") for name in FOLDERS))
    return sorted(page for each in places for page in each if written not in page.parents)


FOLDERS = ("docs", "examples", "experiments", "plans", "tests")


def test_docstrings_and_comments_are_plain() -> None:
    assert [problem for module in every_module() for problem in refused_words(module)] == []


def test_messages_are_plain() -> None:
    """A literal of one word may be refused: it is a name, such as a member of a JSON document."""
    assert [each for module in modules() for each in in_texts(module.path, messages(module))] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_plain(page: Path) -> None:
    text = prose(page.read_text(encoding="utf-8"))
    assert in_texts(str(page.relative_to(ROOT)), [(1, text)]) == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('"""A module.\n\nIt is what is asked."""', ["3: what", "3: asked"]),
        ('def f():\n    """So\n    many events."""', ["2: So many"]),
        (
            "x = 1  # whose\n# told\n\n# stands, goes",
            ["1: whose", "2: told", "4: stands", "4: goes"],
        ),
        ("# The events are so\n# many.", ["1: so many"]),
        ("what = 'what is asked'\nasked = told(what)", []),
        (
            '"""A somewhat plain sentence: `asked_of`, `told`, and `what is told`."""',
            ["1: what", "1: told"],
        ),
    ],
)
def test_refused_words_are_found(text: str, refused: list[str]) -> None:
    assert refused_words(example(text)) == [f"sase.example.py:{each}" for each in refused]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("error(f'it says what {name} is', 'so many')", ["1: what", "1: so many"]),
        ("add(\n    help='a'\n    ' column whose'\n)", ["2: whose"]),
        ("x['asked'], f'{told}'", []),
        ('"""What is asked."""', []),
    ],
)
def test_refused_words_of_messages_are_found(text: str, refused: list[str]) -> None:
    assert in_texts("it", messages(example(text))) == [f"it:{each}" for each in refused]


@pytest.mark.parametrize(
    ("page", "refused"),
    [
        ("# Plans\n\nWhat is kept is\nwhat matters. Why?\n", ["3: What", "4: what"]),
        ("# What does EXPLAIN show?\n\nPlans.\n", []),
        ("# What EXPLAIN shows\n\nWhy so?\n", ["1: What"]),
        ("| what | is it trusted? |\n", ["1: what"]),
        ("It asks\nwhat follows?\n\n- so many\n", ["4: so many"]),
        (
            "```\nwhat\n```\n\n- `what` [of](what.md#what) it\n\n    $ what\n\nIt goes.\n",
            ["9: goes"],
        ),
        ("A page, whose\n    text has\n", ["1: whose"]),
    ],
)
def test_refused_words_of_pages_are_found(page: str, refused: list[str]) -> None:
    assert in_texts("page.md", [(1, prose(page))]) == [f"page.md:{each}" for each in refused]

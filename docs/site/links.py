"""Links of pages: from files of the tree to pages of the site, with an anchor for each code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from posixpath import join, normpath, relpath

ROOT = Path(__file__).parents[2]
# Pages outside of docs/ → their places in the site. The home page has the place of the README.
OUTSIDE = {
    "README.md": "README.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "experiments/README.md": "project/experiments.md",
    "plans/README.md": "project/recipes.md",
    "tests/README.md": "project/tests.md",
}
_FENCED = re.compile(r"^ *(```+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")
_CODES = re.compile(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", re.MULTILINE)
# A bar in the code of a table, which MkDocs would show with its backslash.
BAR = r"\|"
_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
_LIST = re.compile(r"^(?!\s*(?:[-*]|\d+\.) |[ |>#]|$)(.+)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE)


def place(path: str) -> str:
    """The place in the site of a file of the tree."""
    return OUTSIDE.get(path) or path.removeprefix("docs/")


def prose(page: str) -> Iterator[tuple[str, bool]]:
    """The parts of a page in order, each with whether it is prose and no block of code."""
    at = 0
    for block in _FENCED.finditer(page):
        yield page[at : block.start()], True
        yield block[0], False
        at = block.end()
    yield page[at:], True


def linked_files(page: str, path: str) -> Iterator[str]:
    """The files of the tree outside of docs/ to which a page links, other pages left out."""
    for part, is_prose in prose(page):
        for link in _LINK.finditer(part) if is_prose else ():
            target = normpath(join(path, "..", link[2]))
            outside = not target.startswith("docs/") and target not in OUTSIDE
            if outside and (ROOT / target).is_file():
                yield target


def for_the_site(page: str, path: str) -> str:
    """The text of a page of the tree as the site needs it."""
    return "".join(
        _shown(_LINK.sub(lambda link: _moved(link, path), part)) if is_prose else part
        for part, is_prose in prose(page)
    )


def _shown(text: str) -> str:
    """Prose in the dialect of MkDocs: a blank line before lists, and bars in code of tables."""
    return _BAR.sub(_with_bars, _LIST.sub(r"\1\n\n", text))


def _with_bars(code: re.Match[str]) -> str:
    return f"<code>{escape(code[1].replace(BAR, '|')).replace('|', '&#124;')}</code>"


def _moved(link: re.Match[str], path: str) -> str:
    text, name, anchor = link.groups()
    target = normpath(join(path, "..", name))
    if (ROOT / target).is_dir():
        return text  # a folder has no page
    return f"[{text}]({relpath(place(target), join(place(path), '..'))}{anchor or ''})"


def with_anchors(page: str) -> str:
    """The page of diagnostics with an anchor before each code: `diagnostics/#unknown-type`."""

    def anchored(row: re.Match[str]) -> str:
        return f"| {re.sub(r'`([a-z-]+)`', _ANCHOR, row[1])} |"

    return _CODES.sub(anchored, page)


_ANCHOR = r'<a class="code" id="\1" href="#\1">`\1`</a>'

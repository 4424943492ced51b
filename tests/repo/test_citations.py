"""The parts of its own pages that the tree cites exist: sections, links, and files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path
    for folder in ("sase", "tests", "experiments", "examples")
    for path in (ROOT / folder).rglob("*.py")
)
# Pages of words; tables of results have no links.
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / folder / "README.md" for folder in ("experiments", "plans", "tests")),
    }
)
CITED = re.compile(r"(?:docs/)?(semantics|architecture)\.md, (?=[A-Z])")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
# Inside docstrings, comments and strings over several lines.
BREAK = re.compile(r"\s*\n\s*#?\s*")


def headings(page: str) -> list[str]:
    """The headings of a page, those in blocks of code left out."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+?)\s*$", prose, flags=re.MULTILINE)


def anchor(heading: str) -> str:
    """The address of a heading, as it is made where the pages are shown."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return "#" + kept.replace(" ", "-")


def wrong_citations(text: str, pages: dict[str, list[str]]) -> Iterator[str]:
    """The citations of a text that do not begin with a heading of the page."""
    flat = BREAK.sub(" ", text)
    for cited in CITED.finditer(flat):
        named = flat[cited.end() : cited.end() + 80]
        if not any(re.match(rf"{re.escape(each)}(?!\w)", named) for each in pages[cited[1]]):
            yield f"{cited[1]}.md, {named[:40]}"


def cited_pages() -> dict[str, list[str]]:
    """The pages that code cites, with their headings."""
    return {
        name: headings((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
        for name in ("semantics", "architecture")
    }


def test_every_section_that_is_cited_exists() -> None:
    pages = cited_pages()
    assert [
        f"{path.relative_to(ROOT)}: {wrong}"
        for path in (*CODE, *PAGES)
        for wrong in wrong_citations(path.read_text(encoding="utf-8"), pages)
    ] == []


def test_a_wrong_citation_is_found() -> None:
    """Also one that is broken between two lines; a right one may go on with other words."""
    pages = {"semantics": ["Order of results"], "architecture": []}
    name = "semantics.md"
    assert list(wrong_citations(f"{name}, Order of results, as ever", pages)) == []
    assert list(wrong_citations(f"({name},\n    # Order of\n    # results)", pages)) == []
    assert list(wrong_citations(f"{name}, Order of resultsets", pages)) != []
    assert list(wrong_citations(f"{name}, Orders", pages)) != []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lost = []
    for name, place in LINK.findall(text):
        target = page.parent / name if name else page
        if not target.exists():
            lost.append(name)
        elif place and target.suffix == ".md":
            there = headings(target.read_text(encoding="utf-8"))
            lost += [name + place] if place not in map(anchor, there) else []
    assert lost == []


def test_nothing_outside_the_tree_is_cited() -> None:
    """Documents with names by which nobody finds anything here."""
    outside = re.compile(
        "|".join(f"{name}[.]md" for name in ("LANGUAGE", "ARCHITECTURE", "STYLE", "HOUSE"))
    )
    texts = [*CODE, *PAGES, *(ROOT / "tests" / "cases").rglob("*.case")]
    assert [
        str(path.relative_to(ROOT))
        for path in texts
        if outside.search(path.read_text(encoding="utf-8"))
    ] == []


# Where a path on a page begins: at the top, or in the part of the package that the page is about.
BASES = (
    "",
    "experiments",
    "sase",
    "sase/diagnostics",
    "sase/engine",
    "sase/engine/kernels",
    "sase/engine/operators",
    "sase/engine/operators/kleene",
    "sase/engine/pipeline",
    "sase/engine/sources",
    "sase/planning",
    "sase/spark",
)
PATH = re.compile(r"`([\w.]+/[\w./]*)`")
# These add files, of which the folder must be there.
EXAMPLES = {"operators.md", "rewrites.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_on_a_page_exists(page: Path) -> None:
    adds = page.name in EXAMPLES or page.name.startswith("adding-")
    named = [Path(each) for each in PATH.findall(page.read_text(encoding="utf-8"))]
    paths = [each.parent if adds else each for each in named]
    lost = [path for path in paths if not any((ROOT / base / path).exists() for base in BASES)]
    assert lost == []

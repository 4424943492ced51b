"""The parts of the site that are made: links, anchors, commands and diagrams."""

from __future__ import annotations

import re

import pytest

from docs.site.commands import commands
from docs.site.links import OUTSIDE, ROOT, for_the_site, linked_files, with_anchors
from sase.cli.main import COMMANDS
from tests.repo.test_codes import used


def test_links_lead_to_places_of_the_site() -> None:
    page = (
        "[a](../tests/README.md#mutants) [b](why.md) [c](../examples)"
        " [d](../examples/retail.toml)\n"
    )
    moved = "[a](project/tests.md#mutants) [b](why.md) c [d](examples/retail.toml)\n"
    assert for_the_site(page, "docs/x.md") == moved
    assert list(linked_files(page, "docs/x.md")) == ["examples/retail.toml"]
    assert for_the_site("[a](docs/why.md)", "CONTRIBUTING.md") == "[a](../why.md)"
    assert for_the_site(f"```\n{page}```\n", "docs/x.md") == f"```\n{page}```\n"


def test_lists_and_bars_are_written_for_mkdocs() -> None:
    assert for_the_site("All:\n- a\n- b\n", "docs/x.md") == "All:\n\n- a\n- b\n"
    assert for_the_site(r"| `a \| <b` | c |", "docs/x.md") == "| <code>a &#124; &lt;b</code> | c |"


def test_every_page_outside_is_there() -> None:
    assert [path for path in OUTSIDE if not (ROOT / path).is_file()] == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    named = re.findall(r": (\S+\.md)$", text, re.MULTILINE)
    assert sorted(named) == sorted(pages | set(OUTSIDE.values()))


def test_every_code_has_an_anchor() -> None:
    page = with_anchors((ROOT / "docs" / "diagnostics.md").read_text("utf-8"))
    anchors = re.findall(r'id="([a-z-]+)"', page)
    # A code that is an error and a warning has two rows.
    assert {*anchors} == used()


def test_every_command_has_its_options() -> None:
    text = commands()
    assert all(f"## sase {command.name} " in text for command in COMMANDS)
    assert "<code>--follow</code>" in text and "## sase generate retail" in text


def test_every_rule_has_a_diagram() -> None:
    pytest.importorskip("railroad")
    from docs.site.diagrams import GRAMMAR, Diagrams

    made = Diagrams(GRAMMAR.read_text("utf-8"))
    text = "\n".join(made.markdown())
    assert text.count("<svg") == len(made.rules)
    assert {*re.findall(r'href="#(\w+)"', text)} <= made.rules.keys()
    assert made.words("AT_LEAST") == [">=", "≥"]
    assert made.words("_EVENT") == ["EVENT", "PATTERN"]
    assert made.words("NAME") == []

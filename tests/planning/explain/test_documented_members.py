"""docs/explain.md has every member of the JSON document, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.planning.explain.pages import EXAMPLES

DOCS = Path(__file__).parents[3] / "docs" / "explain.md"


def documented() -> set[str]:
    """The names in the first column of the tables, those with dots by their last part too."""
    section = DOCS.read_text(encoding="utf-8").split("## The JSON document")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    dotted = [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]
    return {part for name in dotted for part in name.split(".")}


def members(value: Any) -> Iterator[str]:
    """The names of all members; counters have names of their own."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            if name != "counters":
                yield from members(each)
    elif isinstance(value, list):
        for each in value:
            yield from members(each)


def test_every_member_is_documented() -> None:
    assert documented() == set(members(EXAMPLES["measured"].to_dict()))


def test_the_document_is_plain_json() -> None:
    for explanation in EXAMPLES.values():
        assert json.loads(explanation.to_json()) == explanation.to_dict()

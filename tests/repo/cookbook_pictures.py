"""The pictures of the cookbook, made from the result of each recipe that has one.

`python -m tests.repo.cookbook_pictures` writes them anew.
"""

from __future__ import annotations

import os
import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import sase
from tests.repo.source import ROOT
from tests.repo.test_cookbook import RECIPES, run

FOLDER = ROOT / "docs" / "cookbook"
# The most matches that are drawn, and the most characters of a file.
DRAWN, LONGEST = 3, 20_000
# A file has no colours of a page around it: it is dark on white, and so readable on a dark page.
COLOURS = "<style>svg{color:#1f2328;background:#fff}</style>"


def picture_of(found: Any) -> str | None:
    """The picture of a result as SVG; None for numbers, lists and imprecise time, or if large."""
    if isinstance(found, sase.Funnel):
        return _svg(found._repr_html_())
    if not isinstance(found, sase.Matches) or "confidence" in found.to_arrow().column_names:
        return None
    drawn = (_svg(found.timeline(n=n).drawn("hatch")) for n in range(DRAWN, 0, -1))
    return next((each for each in drawn if len(each) <= LONGEST), None)


def _svg(html: str) -> str:
    (svg,) = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    head, body = svg.split(">", maxsplit=1)
    return f"{head}>{COLOURS}{body}\n"


def path_of(name: str) -> str:
    """The path of a recipe's picture, from the page."""
    return f"cookbook/{int(name.partition('.')[0]):02}.svg"


if __name__ == "__main__":
    os.chdir(ROOT)
    for name, file, blocks in RECIPES:
        with redirect_stdout(StringIO()):
            svg = picture_of(run(file, blocks)[0])
        if svg is not None:
            (ROOT / "docs" / path_of(name)).write_text(svg, encoding="utf-8")

"""The result of a cell: matches, plan and the reason for no match, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from sase.engine.results.matches import Matches
from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.diagnostics.why_not.why_not import WhyNot
    from sase.engine.set_results import CompressedMatches, MatchCount
    from sase.planning.explain import Explanation

# Tabs without a script. A form keeps the tabs of two cells apart. Without the styles, as where a
# notebook is not trusted, all parts are shown one below the other.
STYLE = """<style>
.sase-tabs { display: flex; flex-wrap: wrap; gap: 0 1.2em; }
.sase-tabs > label { order: 1; position: relative; cursor: pointer; padding: 0.2em 0; }
.sase-tabs > label:has(:checked) { font-weight: bold; border-bottom: 2px solid; }
.sase-tabs > label:has(:focus-visible) { outline: 1px dotted; }
.sase-tabs > label > input { position: absolute; opacity: 0; }
.sase-tabs > div { order: 2; width: 100%; overflow-x: auto; }
.sase-tabs > label:not(:has(:checked)) + div { display: none; }
</style>"""


@dataclass(frozen=True)
class CellResult:
    """The matches of a cell in the form of `--output`, the plan, and if none matched the reason."""

    matches: Matches | MatchCount | CompressedMatches
    plan: Explanation
    why: WhyNot | None = None

    def __repr__(self) -> str:
        """Return the text of the matches, and the reason for no match."""
        return repr(self.matches) + ("" if self.why is None else f"\n\n{self.why}")

    def _repr_html_(self) -> str:
        found = self.matches
        first = found._repr_html_() if isinstance(found, Matches) else _preformatted(found)
        parts = {"Matches": first}
        if (picture := _picture(found)) is not None:
            parts["Timeline"] = picture
        parts["Plan"] = _preformatted(self.plan)
        if self.why is not None:
            parts["Why not"] = self.why._repr_html_()
        chosen = "Matches" if self.why is None else "Why not"
        tabs = (
            f'<label><input type="radio" name="tab"{" checked" * (name == chosen)}>{name}</label>'
            f"<div>{content}</div>"
            for name, content in parts.items()
        )
        return f'{STYLE}<form class="sase-tabs">{"".join(tabs)}</form>'


def _picture(found: Matches | MatchCount | CompressedMatches) -> str | None:
    """The first matches along time; None of none, and of matches that cannot be drawn."""
    if not isinstance(found, Matches) or not len(found):
        return None
    try:
        return found.timeline()._repr_html_()
    except PlanError:
        return None


def _preformatted(value: object) -> str:
    return f"<pre>{escape(str(value))}</pre>"

"""Forms of a result that do not hold its matches: compressed, and counted."""

from sase.engine.forms.compressed_matches import CompressedMatches
from sase.engine.forms.counted import Counted
from sase.engine.forms.listed import Listed
from sase.engine.forms.match_count import MatchCount

__all__ = ["CompressedMatches", "Counted", "Listed", "MatchCount"]

"""Forms of a result that do not hold its matches: compressed, and counted."""

from sase.engine.set_results.compressed_matches import CompressedMatches
from sase.engine.set_results.counted import CountedMatches
from sase.engine.set_results.listed import ListedMatches
from sase.engine.set_results.match_count import MatchCount

__all__ = ["CompressedMatches", "CountedMatches", "ListedMatches", "MatchCount"]

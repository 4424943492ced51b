"""Forms of a result that do not hold its matches: compressed, and counted."""

from sase.engine.set_results.compressed_matches import CompressedMatches
from sase.engine.set_results.counted import CountedMatches, MatchCount
from sase.engine.set_results.listed import ListedMatches

__all__ = ["CompressedMatches", "CountedMatches", "ListedMatches", "MatchCount"]

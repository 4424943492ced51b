"""Results without single matches: a compressed set, and a count."""

from sase.engine.set_results.compressed_matches import CompressedMatches
from sase.engine.set_results.counted import (
    CountedHistories,
    CountedMatches,
    CountedStates,
    MatchCount,
)
from sase.engine.set_results.counted_union import CountedUnion, counted_set
from sase.engine.set_results.listed import ListedMatches

__all__ = [
    "CompressedMatches",
    "CountedHistories",
    "CountedMatches",
    "CountedStates",
    "CountedUnion",
    "ListedMatches",
    "MatchCount",
    "counted_set",
]

"""Statistics of events, from a sample or from the footers of files."""

from sase.engine.statistics.footers import from_footers
from sase.engine.statistics.measuring import SAMPLE, measured

__all__ = ["SAMPLE", "from_footers", "measured"]

"""Statistics of events: measured on a sample, or what the footers of files say."""

from sase.engine.statistics.footers import from_footers
from sase.engine.statistics.measuring import SAMPLE, measured

__all__ = ["SAMPLE", "from_footers", "measured"]

"""Statistics of events: measured on a sample, or what the footers of files say."""

from sase.engine.profile.footers import from_footers
from sase.engine.profile.measuring import SAMPLE, measured

__all__ = ["SAMPLE", "from_footers", "measured"]

"""Events from Arrow: their schema before reading, and their columns as arrays."""

from sase.engine.columns.arrow.input import Inputs, opened
from sase.engine.columns.describe import describe
from sase.engine.columns.events import Classify, EventColumn, Events
from sase.engine.columns.loader import Loader

__all__ = ["Classify", "EventColumn", "Events", "Inputs", "Loader", "describe", "opened"]

"""Events from Arrow: what is known of them before reading, and the columns as arrays."""

from sase.engine.events.describing import describe
from sase.engine.events.inputs import Inputs, opened
from sase.engine.events.loading import Loader, load
from sase.engine.events.stream import Classify, Column, Events

__all__ = ["Classify", "Column", "Events", "Inputs", "Loader", "describe", "load", "opened"]

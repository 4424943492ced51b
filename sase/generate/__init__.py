"""Generate event streams: those of the papers' experiments, and a small shop."""

from sase.generate.batches import GeneratorError, TypeLayout
from sase.generate.retail import Shop, retail_events
from sase.generate.stock import stock_events, stock_reader
from sase.generate.uniform import uniform_events, uniform_reader

__all__ = [
    "GeneratorError",
    "Shop",
    "TypeLayout",
    "retail_events",
    "stock_events",
    "stock_reader",
    "uniform_events",
    "uniform_reader",
]

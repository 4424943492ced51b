"""Generate event streams: those of the papers' experiments, a small shop, a cluster."""

from sase.generate.batches import GeneratorError, TypeLayout
from sase.generate.hadoop import Cluster, WorkloadName, hadoop_events
from sase.generate.retail import Shop, retail_events
from sase.generate.stock import stock_events, stock_reader
from sase.generate.uniform import uniform_events, uniform_reader

__all__ = [
    "Cluster",
    "GeneratorError",
    "Shop",
    "TypeLayout",
    "WorkloadName",
    "hadoop_events",
    "retail_events",
    "stock_events",
    "stock_reader",
    "uniform_events",
    "uniform_reader",
]

"""The experiments: a file for a figure or a question, in the order of the report."""

from experiments.core.experiment import Experiment
from experiments.figures import (
    batches_of_w,
    cells,
    cliffs,
    cold_start,
    conditions,
    fig8,
    fig8_p55,
    fig8a,
    fig8b,
    fig8d,
    fig8e,
    fig8f,
    fig9,
    fig10,
    fig11,
    fig12,
    first_test,
    hadoop_lifetimes,
    hadoop_optimizations,
    hadoop_queue,
    hadoop_throughput,
    ip_costs,
    ip_intervals,
    ip_readings,
    ip_series,
    ip_theta,
    ip_window,
    many_keys,
    memory_of,
    micro_batches,
    negation,
    optimizer,
    pp_costs,
    pp_count,
    pp_theta,
    pp_window,
    rules,
    scale,
    series_of_keys,
    spark,
    trees,
    versioned,
    windows,
)

SASE = (fig8, fig9, first_test, fig10, conditions, windows, negation, fig11, fig12, batches_of_w)
SASE_PLUS = (fig8a, fig8b, fig8d, fig8e)
SASE_PLUS_PLUS = (pp_theta, pp_window, pp_costs, pp_count)
IMPRECISE = (ip_window, ip_costs, ip_theta, ip_intervals, ip_series, ip_readings)
HADOOP = (hadoop_lifetimes, hadoop_queue, hadoop_throughput, hadoop_optimizations)
ZSTREAM = (trees,)
OURS = (
    cells,
    cliffs,
    many_keys,
    series_of_keys,
    optimizer,
    micro_batches,
    cold_start,
    memory_of,
    rules,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    *(each.EXPERIMENT for each in SASE),
    *(each.EXPERIMENT for each in SASE_PLUS),
    fig8f.EXPERIMENT,
    fig8f.OVER_WINDOWS,
    versioned.EXPERIMENT,
    fig8_p55.EXPERIMENT,
    *(each.EXPERIMENT for each in SASE_PLUS_PLUS),
    pp_costs.BY_FIRST,
    *(each.EXPERIMENT for each in IMPRECISE),
    *(each.EXPERIMENT for each in HADOOP),
    *(each.EXPERIMENT for each in ZSTREAM),
    *(each.EXPERIMENT for each in OURS),
    *scale.EXPERIMENTS,
    *spark.EXPERIMENTS,
)

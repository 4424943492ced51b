"""Pictures of results, by matplotlib: distinguished in grey by markers, dashes and hatches."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from experiments.core.experiment import Experiment, Plot
from experiments.core.results import Results

MARKERS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
SHADES = ("#000000", "#1f6fb4", "#c1440e", "#4a8a3a", "#7b4fa3", "#8a6d00", "#5a5a5a", "#b03a78")
WIDTH, HEIGHT, COLUMNS = 5.4, 3.6, 2


def pictures(experiment: Experiment, results: Results) -> list[str]:
    """Each plot of an experiment as the text of an SVG."""
    return [
        _picture(experiment, plot, number, results)
        for number, plot in enumerate(experiment.plots)
        if any(plot.y in row and plot.x in row for row in results.measured)
    ]


def _picture(experiment: Experiment, plot: Plot, number: int, results: Results) -> str:
    import matplotlib
    from matplotlib.figure import Figure

    settings = {
        "svg.hashsalt": f"{experiment.name}{number}",  # so that names of parts differ and stay
        "svg.fonttype": "none",
        "font.size": 9,
        "font.family": "sans-serif",
    }
    with matplotlib.rc_context(settings):
        panels = results.panels()
        columns = min(len(panels), COLUMNS)
        lines = -(-len(panels) // COLUMNS)
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * lines), layout="constrained")
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(lines, columns, place + 1)
            (_bars if plot.bars else _lines)(axes, plot, results, panel)
            axes.set_xlabel(plot.x_label)
            axes.set_ylabel(plot.y_label)
            axes.set_title(panel, fontsize=9)
            if plot.log_y:
                axes.set_yscale("log")
            axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.legend(fontsize=7, frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def _curve(plot: Plot, results: Results, way: str, panel: str) -> list[tuple[Any, float]]:
    curve = results.curve(way, plot.y, panel, plot.x)
    if plot.relative and curve:
        lightest = next(value for x, value in curve if x == _first(results, way, plot.x, panel))
        return [(x, value / lightest) for x, value in curve]
    return curve


def _first(results: Results, way: str, x: str, panel: str) -> Any:
    """The lightest load of a way: the point of it that is measured first."""
    of_it = (row for row in results.measured if (row["way"], row["panel"]) == (way, panel))
    return next(row[x] for row in of_it)


def _lines(axes: Any, plot: Plot, results: Results, panel: str) -> None:
    lines = [
        (f"{way} {part.removesuffix('_s')}" if part else way, way, replace(plot, y=part or plot.y))
        for way in results.ways(panel)
        for part in plot.parts or ("",)
    ]
    for number, (label, way, line) in enumerate(lines):
        curve = _curve(line, results, way, panel)
        axes.plot(
            [x for x, _ in curve],
            [value for _, value in curve],
            marker=MARKERS[number % len(MARKERS)],
            linestyle=DASHES[number % len(DASHES)],
            color=SHADES[number % len(SHADES)],
            label=label if curve else f"{label} (not measured)",
            markersize=4.5,
            linewidth=1.3,
        )
    if plot.log_x:
        axes.set_xscale("log")


def _bars(axes: Any, plot: Plot, results: Results, panel: str) -> None:
    ways = results.ways(panel)
    known = {way: dict(_curve(plot, results, way, panel)) for way in ways}
    xs = list(dict.fromkeys(row[plot.x] for row in results.rows if row["panel"] == panel))
    wide = 0.8 / max(len(ways), 1)
    for number, way in enumerate(ways):
        at = [place - 0.4 + wide * (number + 0.5) for place in range(len(xs))]
        axes.bar(
            at,
            [known[way].get(x, 0) for x in xs],
            wide,
            label=way if known[way] else f"{way} (not measured)",
            color="white" if number % 2 else "#bbbbbb",
            edgecolor="black",
            hatch=HATCHES[number % len(HATCHES)],
            linewidth=0.7,
        )
    axes.set_xticks(range(len(xs)), [str(x) for x in xs])

"""The figures and tables of the four papers: the experiments that repeat them, or why none does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

SASE, SASE_PLUS, SASE_PLUS_PLUS = "SASE 2006", "SASE+ 2008", "SASE++ 2014"
MATCH_WINDOWS = "Match windows 2012"

# The experiments that repeat a figure.
REPEATED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    SASE: {
        "Figure 8": ("fig8",),
        "Figure 9": ("fig9",),
        "Figure 10a": ("fig10",),
        "Figure 10b": ("fig10",),
        "Figure 11": ("fig11",),
        "Figure 12": ("fig12",),
    },
    SASE_PLUS: {
        "Figure 8a": ("fig8a",),
        "Figure 8b": ("fig8b",),
        "Figure 8c": ("fig8b",),
        "Figure 8d": ("fig8d",),
        "Figure 8e": ("fig8e",),
        "Figure 8f": ("fig8f",),
        "Figure 8g": ("fig8g",),
        "Figure 4": ("versioned",),
        "Table 2": ("fig8a",),
        "Table 3": ("fig8g", "versioned"),
    },
    SASE_PLUS_PLUS: {
        "Figure 5a": ("pp_theta",),
        "Figure 5b": ("pp_theta",),
        "Figure 5c": ("pp_window",),
        "Figure 5d": ("pp_window",),
        "Figure 5e": ("pp_theta",),
        "Figure 5f": ("pp_window",),
        "Figure 5g": ("pp_costs",),
        "Figure 5h": ("pp_costs", "pp_first"),
        "Figure 5i": ("pp_costs",),
        "Figure 6a": ("ip_window",),
        "Figure 6b": ("ip_costs",),
        "Figure 6c": ("ip_costs",),
        "Figure 6d": ("ip_window",),
        "Figure 7a": ("hadoop_lifetimes",),
        "Figure 7b": ("hadoop_lifetimes",),
        "Figure 7c": ("hadoop_queue",),
        "Figure 7d": ("hadoop_queue",),
        "Figure 7e": ("hadoop_throughput",),
        "Figure 7f": ("hadoop_optimizations",),
    },
    MATCH_WINDOWS: {
        **{f"Figure {n}{panel}": ("mw_length",) for n in (6, 7) for panel in "abcd"},
        **{f"Figure {n}{panel}": ("mw_window",) for n in (6, 7) for panel in "ef"},
        "Figure 8a": ("mw_events",),
        "Figure 8b": ("mw_events",),
    },
}

SETTINGS = "the parameters of streams and queries, which the experiments have"
QUERIES = "queries: they are in examples/queries"
DRAWING = "a drawing: nothing is measured"
STEPS = "an example by hand: its steps are in {}"
THEORY = "theory: sase explain prints the class of a query, and docs/complexity.md explains it"
XSEQ = (
    "XSeq was a binary, and is not to be had. The paper says that its throughput falls with the"
    " number of events and hardly depends on W, since it has no windows, and that SASE++ is four to"
    " ten orders of magnitude faster"
)
# The reason for each of the others.
NOT_REPEATED: Mapping[str, Mapping[str, str]] = {
    SASE: {
        **{f"Figure {n}": STEPS.format("tests/engine/test_figures.py") for n in range(1, 7)},
        "Figure 7": "the text of the paper has no such figure",
        "Table 1": SETTINGS,
        "Table 2": SETTINGS,
    },
    SASE_PLUS: {
        "Figure 1": QUERIES,
        "Figure 2": DRAWING,
        "Figure 3": STEPS.format("tests/engine/series/test_papers.py"),
        "Figure 5": DRAWING,
        "Figure 6": DRAWING,
        "Figure 7": STEPS.format("tests/engine/series/test_backtracking.py"),
        "Table 1": SETTINGS,
    },
    SASE_PLUS_PLUS: {
        "Figure 1": DRAWING,
        "Figure 2": THEORY,
        "Figure 3": STEPS.format("tests/engine/series/test_papers.py"),
        "Figure 4": STEPS.format("tests/engine/series/test_papers.py"),
        "Figure 6e": XSEQ,
        "Figure 6f": XSEQ,
        "Figure 8": DRAWING,
        "Table 1": QUERIES,
        "Table 2": "the notation of Table 3",
        "Table 3": THEORY,
        "Table 4": "the names of the systems in its figures",
        "Table 5": QUERIES,
        "Table 6": "the sizes of workloads, which sase generate hadoop has",
    },
    MATCH_WINDOWS: {
        "Figure 1": STEPS.format("tests/engine/windows/test_window_counters.py"),
        "Figure 2": DRAWING,
        "Figure 3": DRAWING,
        "Figure 4": DRAWING,
        "Figure 5": STEPS.format("tests/engine/windows/test_window_counters.py"),
        "Table 1": "the notation of the paper",
    },
}


def described() -> Iterator[str]:
    """A line for the figures that no experiment repeats for the same reason."""
    for paper, reasons in NOT_REPEATED.items():
        for reason in dict.fromkeys(reasons.values()):
            items = [item for item, said in reasons.items() if said == reason]
            yield f"{paper}, {_joined(items)}: not repeated: {reason}"


def _joined(items: Sequence[str]) -> str:
    """Figures and tables as a text: `Figures 1, 2, Table 1`."""
    kinds: dict[str, list[str]] = {}
    for item in items:
        kind, number = item.split()
        kinds.setdefault(kind, []).append(number)
    return ", ".join(
        f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
        for kind, numbers in kinds.items()
    )

"""Event patterns over streams and tables: sequences, negation, Kleene closure.

Importing the package loads none of its parts: a public name is fetched from its module when it is
first used, so that a script or the command line pays only for what it needs.
"""

from __future__ import annotations

__version__ = "0.1.0.dev0"

# Public name → the module that defines it.
_HOMES = {
    "BindingError": "sase.errors",
    "BudgetError": "sase.errors",
    "BudgetWarning": "sase.errors",
    "DataError": "sase.errors",
    "Diagnostic": "sase.errors",
    "PlanError": "sase.errors",
    "QueryError": "sase.errors",
    "QuerySyntaxError": "sase.errors",
    "SaseError": "sase.errors",
    "SchemaError": "sase.errors",
    "SnapshotError": "sase.errors",
    "SparkError": "sase.errors",
    "TimeLimitError": "sase.errors",
    "CompressedMatches": "sase.engine.set_results.compressed_matches",
    "Comparison": "sase.diagnostics.strategies.comparison",
    "MatchCount": "sase.engine.set_results.counted",
    "Matcher": "sase.engine.pipeline.matcher",
    "Matches": "sase.engine.results.matches",
    "Explanation": "sase.planning.explain",
    "Plan": "sase.api.plan",
    "Schema": "sase.binding",
    "WhyNot": "sase.diagnostics.why_not.why_not",
    "compare": "sase.api.compare",
    "compile": "sase.api",
    "explain": "sase.api.explain",
    "match": "sase.api",
    "why": "sase.api.why_not",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

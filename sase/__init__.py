"""Event patterns over streams and tables: sequences, negation, Kleene closure.

Importing the package loads none of its parts. A public name is imported from its module at its
first use, so a script or the command line loads only the modules that it needs. Type checkers see
all names.
"""

from __future__ import annotations

# True for type checkers; importing it from `typing` takes longer than the rest of this module.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from sase.api import compile, match
    from sase.api.compare import compare
    from sase.api.explain import explain
    from sase.api.funnel import funnel
    from sase.api.interval import interval
    from sase.api.plan import Plan
    from sase.api.script import Script, ScriptMatcher
    from sase.api.why_not import why
    from sase.binding import Schema
    from sase.binding.values.aggregates import aggregate
    from sase.diagnostics.strategies.comparison import Comparison
    from sase.diagnostics.why_not.why_not import WhyNot
    from sase.engine.pipeline.matcher import Matcher
    from sase.engine.results.funnel import Funnel
    from sase.engine.results.matches import Matches
    from sase.engine.results.timeline import Timeline
    from sase.engine.set_results.compressed_matches import CompressedMatches
    from sase.engine.set_results.counted import MatchCount
    from sase.errors import (
        BindingError,
        BudgetError,
        BudgetWarning,
        DataError,
        Diagnostic,
        MemoryLimitError,
        PlanError,
        QueryError,
        QuerySyntaxError,
        SaseError,
        SchemaError,
        SnapshotError,
        SparkError,
        TimeLimitError,
    )
    from sase.notebook import load_ipython_extension
    from sase.planning.explain import Explanation

__version__ = "0.2.0"

# Public name → the module that defines it.
_HOMES = {
    "BindingError": "sase.errors",
    "BudgetError": "sase.errors",
    "BudgetWarning": "sase.errors",
    "DataError": "sase.errors",
    "Diagnostic": "sase.errors",
    "MemoryLimitError": "sase.errors",
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
    "Funnel": "sase.engine.results.funnel",
    "MatchCount": "sase.engine.set_results.counted",
    "Matcher": "sase.engine.pipeline.matcher",
    "Matches": "sase.engine.results.matches",
    "Explanation": "sase.planning.explain",
    "Plan": "sase.api.plan",
    "Schema": "sase.binding",
    "Script": "sase.api.script",
    "ScriptMatcher": "sase.api.script",
    "Timeline": "sase.engine.results.timeline",
    "WhyNot": "sase.diagnostics.why_not.why_not",
    "aggregate": "sase.binding.values.aggregates",
    "compare": "sase.api.compare",
    "compile": "sase.api",
    "explain": "sase.api.explain",
    "funnel": "sase.api.funnel",
    "interval": "sase.api.interval",
    "load_ipython_extension": "sase.notebook",
    "match": "sase.api",
    "why": "sase.api.why_not",
}

# A literal list, as type checkers need it.
__all__ = [
    "__version__",
    "BindingError",
    "BudgetError",
    "BudgetWarning",
    "DataError",
    "Diagnostic",
    "MemoryLimitError",
    "PlanError",
    "QueryError",
    "QuerySyntaxError",
    "SaseError",
    "SchemaError",
    "SnapshotError",
    "SparkError",
    "TimeLimitError",
    "CompressedMatches",
    "Comparison",
    "Funnel",
    "MatchCount",
    "Matcher",
    "Matches",
    "Explanation",
    "Plan",
    "Schema",
    "Script",
    "ScriptMatcher",
    "Timeline",
    "WhyNot",
    "aggregate",
    "compare",
    "compile",
    "explain",
    "funnel",
    "interval",
    "load_ipython_extension",
    "match",
    "why",
]


# Hidden from type checkers, which would otherwise accept any name in this package.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value


del TYPE_CHECKING  # not a public name


def __dir__() -> list[str]:
    return sorted(__all__)

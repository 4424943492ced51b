"""Expressions: compiled to programs, or evaluated over columns by NumPy, with equal results."""

from sase.engine.expressions.layout import LoweringError, Need, ProgramLayout, columns_needed
from sase.engine.expressions.lowering import (
    Lowered,
    lower,
    lower_counted,
    lower_terms,
    make_stack,
)
from sase.engine.expressions.row_filter import FilterColumns, RowFilter
from sase.engine.expressions.strings import Interner, TextDictionary
from sase.engine.expressions.vectors import Vector, columns_of, vector_of

__all__ = [
    "Interner",
    "TextDictionary",
    "Vector",
    "ProgramLayout",
    "Lowered",
    "LoweringError",
    "Need",
    "FilterColumns",
    "RowFilter",
    "columns_needed",
    "columns_of",
    "vector_of",
    "lower",
    "lower_counted",
    "lower_terms",
    "make_stack",
]

"""Operators for comparisons with papers; the optimizer never chooses them."""

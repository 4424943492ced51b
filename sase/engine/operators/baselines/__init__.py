"""Operators that recipes and papers compare with; no optimizer chooses them."""

"""Operators that recipes and papers compare with, and no optimizer chooses."""

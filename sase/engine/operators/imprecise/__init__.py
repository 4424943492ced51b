"""Imprecise time: candidates, and how likely they are matches."""

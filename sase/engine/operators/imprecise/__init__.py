"""Imprecise time: candidates, and the probability that they are matches."""

"""How likely matches of imprecise time are."""

"""The physical plan: the algorithms of a plan as a value, chosen before anything is opened."""

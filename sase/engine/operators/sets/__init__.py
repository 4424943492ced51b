"""Sets, and `earliest_maximal`: run evaluation, joins, and what their matches are."""

"""Sets, and `earliest_maximal`: run evaluation, joins, and their matches."""

"""The code of workers: the search of a part, its limits, and the order of its results."""

"""The conditions of series, sets and repeated groups by moment, as kernels of runs read them."""

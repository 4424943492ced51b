"""The operators of a plan as one pipeline, and the ways of running it: batch, stream, threads."""

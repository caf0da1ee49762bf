"""Trace -> rows of the graph, ranges written out or kept as patterns."""

"""Rows of a trace that stand for others: nests and renamed iterations, written out."""

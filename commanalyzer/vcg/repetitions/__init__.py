"""Rows of a trace that stand for others: nests, written out."""

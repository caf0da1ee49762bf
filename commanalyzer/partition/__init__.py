"""Partitioning of value graphs."""

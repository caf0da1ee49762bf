"""Scaling laws: metrics over node counts and program parameters -> formulas, predictions, projections."""

"""Counted and measured runs beside predictions, as text and pages."""

"""Sweeps, laws, projections and allocations as text and JSON."""

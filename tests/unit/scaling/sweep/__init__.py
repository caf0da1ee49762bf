"""Sweeps: specifications, state and table."""

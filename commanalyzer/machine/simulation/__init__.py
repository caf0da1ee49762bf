"""Simulated execution: generated platforms, replayed traces (SimGrid)."""

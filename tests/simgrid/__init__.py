"""Simulated networks with known parameters, for the tests (SimGrid)."""

"""Benchmarks: own command, never part of the test run."""

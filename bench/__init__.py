"""Benchmarks: own commands, not collected by pytest."""

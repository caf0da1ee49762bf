"""Tests of commanalyzer.scaling.allocations."""

"""Tests of commanalyzer.allocations."""

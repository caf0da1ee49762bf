"""Tests of commanalyzer.result.comparison."""

"""Tests of commanalyzer.comparison."""

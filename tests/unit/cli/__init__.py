"""Tests of commanalyzer.cli."""

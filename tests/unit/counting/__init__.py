"""Tests of commanalyzer.counting."""

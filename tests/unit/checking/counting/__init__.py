"""Tests of commanalyzer.checking.counting."""

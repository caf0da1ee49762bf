"""Tests of commanalyzer.checking."""

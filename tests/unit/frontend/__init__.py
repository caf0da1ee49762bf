"""Tests of commanalyzer.frontend."""

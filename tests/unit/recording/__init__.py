"""Tests of commanalyzer.recording."""

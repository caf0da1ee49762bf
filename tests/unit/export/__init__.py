"""Tests of commanalyzer.export."""

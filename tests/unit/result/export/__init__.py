"""Tests of commanalyzer.result.export."""

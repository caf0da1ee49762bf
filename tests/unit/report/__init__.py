"""Tests of commanalyzer.report."""

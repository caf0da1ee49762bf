"""Tests of commanalyzer.report.result."""

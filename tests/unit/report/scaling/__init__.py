"""Tests of commanalyzer.report.scaling."""

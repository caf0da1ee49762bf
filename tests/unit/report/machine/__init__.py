"""Tests of commanalyzer.report.machine."""

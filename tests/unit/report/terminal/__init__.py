"""Tests of :mod:`commanalyzer.report.terminal`."""

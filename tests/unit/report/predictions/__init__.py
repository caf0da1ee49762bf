"""Tests of :mod:`commanalyzer.report.predictions`."""

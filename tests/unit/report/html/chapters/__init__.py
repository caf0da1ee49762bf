"""Tests of :mod:`commanalyzer.report.html.chapters`."""

"""Tests of :mod:`commanalyzer.division.regular`."""

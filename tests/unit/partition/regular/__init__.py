"""Tests of :mod:`commanalyzer.partition.regular`."""

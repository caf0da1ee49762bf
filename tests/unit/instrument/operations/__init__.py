"""Tests of :mod:`commanalyzer.instrument.operations`."""

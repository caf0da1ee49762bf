"""Tests of :mod:`commanalyzer.instrument.iterations`."""

"""Tests of :mod:`commanalyzer.instrument.loops`."""

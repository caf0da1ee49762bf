"""Tests of :mod:`commanalyzer.instrument.labelling`."""

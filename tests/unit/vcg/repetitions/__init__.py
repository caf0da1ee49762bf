"""Tests of :mod:`commanalyzer.vcg.repetitions`."""

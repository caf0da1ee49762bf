"""Tests of :mod:`commanalyzer.vcg.reading`."""

"""Tests of :mod:`commanalyzer.graph.reading`."""

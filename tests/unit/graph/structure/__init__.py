"""Tests of :mod:`commanalyzer.graph.structure`."""

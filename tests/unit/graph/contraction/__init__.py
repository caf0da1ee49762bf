"""Tests of :mod:`commanalyzer.graph.contraction`."""

"""Tests of :mod:`commanalyzer.graph.storage`."""

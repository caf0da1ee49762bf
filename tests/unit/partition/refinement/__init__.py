"""Tests of :mod:`commanalyzer.partition.refinement`."""

"""Tests of :mod:`commanalyzer.partition.coarsening`."""

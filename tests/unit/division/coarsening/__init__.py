"""Tests of :mod:`commanalyzer.division.coarsening`."""

"""Tests of :mod:`commanalyzer.division.refinement`."""

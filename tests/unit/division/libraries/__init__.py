"""Tests of :mod:`commanalyzer.division.libraries`."""

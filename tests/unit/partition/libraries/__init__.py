"""Tests of :mod:`commanalyzer.partition.libraries`."""

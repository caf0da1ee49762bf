"""Tests of commanalyzer.simulation."""

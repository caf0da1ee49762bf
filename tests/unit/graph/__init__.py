"""Tests of commanalyzer.graph."""

"""Tests of commanalyzer.bounds."""

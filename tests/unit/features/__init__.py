"""Tests of commanalyzer.features."""

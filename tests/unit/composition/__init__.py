"""Tests of commanalyzer.composition."""

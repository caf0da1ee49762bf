"""Tests of commanalyzer.scaling."""

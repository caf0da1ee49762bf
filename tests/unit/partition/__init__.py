"""Tests of commanalyzer.partition."""

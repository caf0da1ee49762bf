"""Tests of commanalyzer.learning."""

"""Tests of commanalyzer.program."""

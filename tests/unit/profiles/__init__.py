"""Tests of commanalyzer.profiles."""

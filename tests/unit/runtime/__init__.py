"""Tests of commanalyzer.runtime."""

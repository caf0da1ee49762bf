"""Tests of commanalyzer.division."""

"""Tests of commanalyzer.machine."""

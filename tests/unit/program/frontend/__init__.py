"""Tests of commanalyzer.program.frontend."""

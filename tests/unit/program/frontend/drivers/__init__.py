"""Tests of commanalyzer.program.frontend.drivers."""

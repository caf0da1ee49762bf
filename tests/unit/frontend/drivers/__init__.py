"""Tests of commanalyzer.frontend.drivers."""

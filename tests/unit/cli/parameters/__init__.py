"""Tests of :mod:`commanalyzer.cli.parameters`."""

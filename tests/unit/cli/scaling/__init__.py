"""Tests of commanalyzer.cli.scaling."""

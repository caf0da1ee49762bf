"""Tests of commanalyzer.laws."""

"""Tests of commanalyzer.scaling.laws."""

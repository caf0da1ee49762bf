"""Tests of commanalyzer.communication."""

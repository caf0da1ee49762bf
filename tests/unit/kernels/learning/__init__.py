"""Tests of commanalyzer.kernels.learning."""

"""Tests of commanalyzer.kernels."""

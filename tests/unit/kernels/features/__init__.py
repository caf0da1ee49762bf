"""Tests of commanalyzer.kernels.features."""

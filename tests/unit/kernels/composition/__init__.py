"""Tests of commanalyzer.kernels.composition."""

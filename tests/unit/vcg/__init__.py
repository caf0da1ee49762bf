"""Tests of commanalyzer.vcg."""

"""Tests of :mod:`commanalyzer.vcg.structure`."""

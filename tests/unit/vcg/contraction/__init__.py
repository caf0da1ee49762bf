"""Tests of :mod:`commanalyzer.vcg.contraction`."""

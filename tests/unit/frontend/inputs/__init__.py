"""Tests of :mod:`commanalyzer.frontend.inputs`."""

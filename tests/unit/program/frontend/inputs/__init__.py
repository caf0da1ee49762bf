"""Tests of :mod:`commanalyzer.program.frontend.inputs`."""

"""Tests of :mod:`commanalyzer.interpreter.instructions`."""

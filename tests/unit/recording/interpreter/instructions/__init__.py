"""Tests of :mod:`commanalyzer.recording.interpreter.instructions`."""

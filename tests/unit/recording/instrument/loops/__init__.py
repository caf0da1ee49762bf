"""Tests of :mod:`commanalyzer.recording.instrument.loops`."""

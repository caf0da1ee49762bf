"""Tests of :mod:`commanalyzer.recording.interpreter.libc`."""

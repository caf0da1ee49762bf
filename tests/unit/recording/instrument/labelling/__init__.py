"""Tests of :mod:`commanalyzer.recording.instrument.labelling`."""

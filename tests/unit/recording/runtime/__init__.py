"""Tests of commanalyzer.recording.runtime."""

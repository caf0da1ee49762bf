"""Tests of :mod:`commanalyzer.communication.combining`."""

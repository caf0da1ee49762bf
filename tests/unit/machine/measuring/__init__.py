"""Tests of :mod:`commanalyzer.machine.measuring`."""

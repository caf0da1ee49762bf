"""Tests of commanalyzer.machine.simulation."""

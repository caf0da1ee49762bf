"""Tests of :mod:`commanalyzer.program.ir.names`."""

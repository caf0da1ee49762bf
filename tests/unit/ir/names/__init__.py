"""Tests of :mod:`commanalyzer.ir.names`."""

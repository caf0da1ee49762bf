"""Tests of :mod:`commanalyzer.ir.parsing`."""

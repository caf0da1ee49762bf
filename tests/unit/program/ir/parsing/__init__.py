"""Tests of :mod:`commanalyzer.program.ir.parsing`."""

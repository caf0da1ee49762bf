"""Tests of :mod:`commanalyzer.program.ir.loops`."""

"""Tests of :mod:`commanalyzer.ir.loops`."""

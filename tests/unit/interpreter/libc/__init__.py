"""Tests of :mod:`commanalyzer.interpreter.libc`."""

"""Tests of :mod:`commanalyzer.foundation`."""

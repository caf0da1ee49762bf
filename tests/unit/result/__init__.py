"""Tests of :mod:`commanalyzer.result`."""

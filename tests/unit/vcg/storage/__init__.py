"""Tests of :mod:`commanalyzer.vcg.storage`."""

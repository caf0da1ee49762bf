"""Tests of :mod:`commanalyzer.communication.messages`."""

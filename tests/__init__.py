"""Tests of CommAnalyzer."""

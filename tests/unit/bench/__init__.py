"""Tests of tests.bench."""

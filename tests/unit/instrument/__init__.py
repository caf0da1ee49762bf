"""Tests of the instrumenter."""

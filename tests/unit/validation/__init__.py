"""Tests of the validation."""

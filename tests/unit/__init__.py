"""Tests of single modules; mirrors the package."""

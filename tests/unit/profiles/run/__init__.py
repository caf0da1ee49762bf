"""Tests of commanalyzer.profiles.run."""

"""Profiles, classes and models of profiles as text, JSON and pages."""

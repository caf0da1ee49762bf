"""Compares a predicted with a counted communication matrix."""

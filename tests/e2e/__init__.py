"""Whole programs: source in, communication out."""

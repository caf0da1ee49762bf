"""Analyses over a grid of program parameters: points, what runs them, and the table of their results."""

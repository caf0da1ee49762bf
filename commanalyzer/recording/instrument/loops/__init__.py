"""Loops in versions: which run without hooks when they repeat, and the code that decides."""

"""Laboratory: measurements and tables."""

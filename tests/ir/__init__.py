"""Small modules through the instrumenter: what is inserted, and that the result is valid IR."""

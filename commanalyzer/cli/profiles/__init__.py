"""Commands about profiles of ranks, and their extrapolation."""

"""Reading of recorded traces."""

"""Coarse vertices of large graphs: tiles, the links and nets between them, back to values."""

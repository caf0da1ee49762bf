"""Regular divisions: shapes of arrays, grids of parts, blocks; rules and owner maps of the user."""

"""Programs that do what a recorder does not expect."""

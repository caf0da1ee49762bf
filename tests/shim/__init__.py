"""The runtime shim through its contract: layout, signatures, single hooks."""

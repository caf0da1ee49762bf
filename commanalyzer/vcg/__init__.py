"""Value graph: construction, singletons, hubs, dissolving of registers, invariants."""

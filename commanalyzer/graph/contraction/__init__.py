"""One value, one vertex: contraction, workspaces, dissolving of registers, nested reductions."""

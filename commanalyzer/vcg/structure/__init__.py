"""Structure of a graph: distinct edges, degrees, hubs, the paper's singletons, segments of arrays."""

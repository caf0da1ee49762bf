"""Structure of a graph: degrees, hubs, the paper's singletons, segments of arrays."""

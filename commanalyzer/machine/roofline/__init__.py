"""Bounds of parallel efficiency: the paper's equations, and a tighter one that knows messages and latency."""

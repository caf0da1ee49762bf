"""Machines, bounds and simulated runs as text and JSON."""

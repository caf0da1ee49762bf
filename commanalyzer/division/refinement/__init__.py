"""Refinement for the communication volume: moves of vertices, borders of parts, followers."""

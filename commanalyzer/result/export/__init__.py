"""Exports to formats of other tools."""

"""Chapters of the page that are not about one result: laws, tasks, learning, allocations."""

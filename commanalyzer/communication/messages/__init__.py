"""Transfers put together as messages: who exchanges what with whom, in which phase of a step."""

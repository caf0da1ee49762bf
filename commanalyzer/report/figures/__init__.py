"""Figures of results: plain numbers -> matplotlib axes; knows nothing of results and files."""

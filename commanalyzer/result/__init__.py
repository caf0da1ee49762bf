"""Results of an analysis.

The frozen value, the file that keeps it, where it comes from, how far it is to be trusted.
"""

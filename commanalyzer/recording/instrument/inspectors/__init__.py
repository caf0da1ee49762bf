"""Inspectors.

Loops whose addresses depend on data run once without stores, to be compared with before.
"""

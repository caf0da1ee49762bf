"""Families of formulas propose terms.

The physical lattice, the performance model normal form, Extra-P's own.
"""

"""Families of formulas propose terms: the physical lattice, the normal form of models, Extra-P's own."""

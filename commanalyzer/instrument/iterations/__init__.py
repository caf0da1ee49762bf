"""Loops whose iterations are known apart: in each run only few do something new."""

"""Counting of communication."""

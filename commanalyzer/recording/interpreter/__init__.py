"""Interpretation of IR with exact dynamic thin slices: the reference for the native instrumentation."""

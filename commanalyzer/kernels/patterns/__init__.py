"""Parallel patterns of the loops and recursions of a sequential program.

In: a canonical module and its arguments; the program is interpreted, so inputs are small. Out: per loop and
recursive function a pattern (do-all, reduction, stencil, pipeline, task pool) or the flows that forbid one,
by source line. What is said holds for the flows of that run: other inputs may have more.
"""

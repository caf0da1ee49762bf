"""From some sizes and numbers of nodes to others.

In: a specification of runs (``sweep/``). Out: a table of them, formulas over n and p with bands (``laws/``),
predicted time and what to ask for (``allocations/``). Imports ``pipeline``, ``result``, ``machine``; laws'
formulas and regression serve ``kernels`` and ``profiles``, too.
"""

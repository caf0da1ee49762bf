"""Composition of performance models: blocks and a pattern in, the model of the system out.

In: blocks with their models (laws, formulas, measured tables) and an expression over the operators of
:mod:`commanalyzer.kernels.composition.systems`. Out: element time and latency as the maximum of sums of block
models, bottleneck, thread counts, and designs evaluated on a number of cores. Pure functions, but for the
files of :mod:`commanalyzer.kernels.composition.answer` and the clock of
:mod:`commanalyzer.kernels.composition.measurement`.

Reference: A. Calotoiu, T. Hoehl, H. Mantel, T. Nguyen, F. Wolf, *Designing efficient parallel software via
compositional performance modeling*, 2019.
"""

"""Static and run-time features of the kernels of a sequential program.

In: a canonical module; for measured numbers also its arguments, then the program is interpreted. Out: per
kernel (a nest of loops whose iterations are work items) the counts of Kofler's heuristic, the counts of a
run, and the vector of features that :mod:`commanalyzer.kernels.learning` learns from. Nothing is said about
whether the iterations of a nest may run at the same time: :mod:`commanalyzer.kernels.patterns` finds that.
"""

"""Communication time of allocations (nodes x processes per node), and which one to ask for.

In: what the processes send in a phase (a matrix, laws, or a halo), a placement, the phase models of a machine
file or those fitted to a campaign, and what computes. Out: metrics of phases, models, a table of
configurations with times and costs, and the decisions that follow from it.

Invariants: times are never negative; a prediction outside of what a model was trained on is marked; metrics
count what crosses between nodes only where they say so (NT, NI, V, VI).

Reference: N. Papadopoulou, G. Goumas, N. Koziris, Optimizing resource utilization on large-scale systems
through predictive communication modeling, 2017.
"""

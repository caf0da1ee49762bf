"""Kernels of a sequential program, the graph of their executions, and the range mappers of their buffers.

In: a canonical module and its arguments; the program is interpreted, so inputs are small. Out:
:class:`~commanalyzer.kernels.tasks.graph.TaskGraph`: tasks with their work, edges with the bytes and buffers
that cause them, and per kernel, buffer and access a :class:`~commanalyzer.kernels.tasks.mappers.RangeMapper`.
What is said holds for the accesses of that run: other inputs may have more.

Reference: N. Stawinoga, S. Lal, B. Cosenza, P. Salzmann, P. Thoman, T. Fahringer, *A portable
compiler-runtime approach for scalability prediction*, Future Generation Computer Systems, 2026, Sections 2.1
and 4.
"""

"""What the loops of a program are: features, patterns, tasks, and what is predicted from them.

In: a parsed module, run by the interpreter. Out: :class:`~commanalyzer.kernels.tasks.graph.TaskGraph`,
counts of instructions (``features/``), parallel patterns of loops (``patterns/``), designs of blocks
(``composition/``), learned speedups (``learning/``). Imports ``program``, ``recording``, ``scaling``'s laws.
"""

"""Sources to one canonical program.

In: C, C++, Fortran or LLVM IR files, an executable of the compiler wrappers, or a Python function, and how to
compile them. Out: :class:`~commanalyzer.program.frontend.compile.FrontendResult` and the parsed
:class:`~commanalyzer.program.ir.model.Module`, with what its loops, names and library calls are.
Imports ``foundation`` only; whoever looks at code may import it.
"""

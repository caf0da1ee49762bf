"""A canonical program to what it did: instrumented, run under limits, and read back.

In: :class:`~commanalyzer.program.ir.model.Module` and a request. Out:
:class:`~commanalyzer.recording.trace.Trace`, and with its graph
:class:`~commanalyzer.recording.record.RecordedProgram`. ``interpreter/`` does the same in plain Python: it is
the oracle of tests, and runs programs for ``kernels``. Imports ``program``; the contract with the recorder in
C is ``abi.py``.
"""

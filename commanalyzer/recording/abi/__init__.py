"""The contract between instrumented code and the runtime shim: hooks and layout of the trace."""

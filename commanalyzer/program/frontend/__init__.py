"""Sources to canonical LLVM IR, and IR to executables."""

"""Text of LLVM IR -> parsed module: tokens, operands, one reader per opcode."""

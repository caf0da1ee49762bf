"""LLVM IR: parsed modules, types, constants, control flow, and facts about library calls."""

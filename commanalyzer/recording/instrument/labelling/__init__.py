"""Labels of registers: which values a register carries, and the code that keeps them."""

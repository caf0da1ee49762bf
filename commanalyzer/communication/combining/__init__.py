"""Reductions over several parts: send the operands, or combine them and send the sum."""

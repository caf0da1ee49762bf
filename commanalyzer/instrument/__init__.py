"""Instrumentation: what to insert into the program (plan), and writing it into the IR text (rewrite)."""

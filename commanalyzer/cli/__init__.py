"""The command line: one module per command; the only room that prints and exits.

In: arguments. Out: calls of ``api``'s and other rooms' functions, and what ``report`` makes of their values.
Nobody imports it.
"""

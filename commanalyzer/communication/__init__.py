"""Owners to what has to be sent: bytes and messages between all pairs of parts, brackets, phases of a step.

In: a value graph and int32[V] owners. Out: :class:`~commanalyzer.communication.matrix.Communication`.
Imports ``graph``; knows nothing of how owners were found.
"""

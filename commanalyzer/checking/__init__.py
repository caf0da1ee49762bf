"""Predictions against real MPI programs.

In: an MPI command. Out: its counted bytes as :class:`~commanalyzer.result.results.AnalysisResult`.
Imports ``pipeline`` and ``result``; only ``report`` and ``cli`` import it.
"""

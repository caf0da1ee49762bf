"""Predictions against real MPI programs.

In: an MPI command. Out: its counted bytes as :class:`~commanalyzer.result.results.AnalysisResult`
(``counting/``), and documents that say how far predictions are from them (``validation/``).
Imports ``pipeline`` and ``result``; only ``report`` and ``cli`` import it.
"""

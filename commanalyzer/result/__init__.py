"""What an analysis found: frozen values, the file that keeps them, causes, comparison, files of other tools.

In: a graph with its divisions. Out: :class:`~commanalyzer.result.results.AnalysisResult`, ``*.cmz`` and back.
Imports the rooms that found it; everything that shows or predicts imports it.
"""

"""A graph to an owner for every value: regular divisions, partitioners, and the choice among them.

In: a value graph as one model sees it (:class:`~commanalyzer.division.views.View`) and numbers of nodes. Out:
:class:`~commanalyzer.division.portfolio.Candidate` with int32[V] owners, and one
:class:`~commanalyzer.result.results.Decomposition` for each that is shown.
Imports ``graph`` and ``communication``, which counts what is compared; ``pipeline`` and the ends import it.
"""

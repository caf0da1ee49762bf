"""Application profiles: what a program executes, whatever machine it runs on, per rank.

In: a profile run of a sequential program, its division and communication matrix, a counted MPI run, or a
file. Out: :class:`~commanalyzer.profiles.values.Profile`, one
:class:`~commanalyzer.profiles.values.RankProfile` per rank, and the files of other tools that hold the same
(``*.pisa``); ``classification/``, ``extrapolation/`` take several to other scales. Imports ``result``, laws.

Reference: *IBM Exascale Extrapolator manual*, 2018, Tables 1 and 2, Appendix A; A. Anghel et al., *An
instrumentation approach for hardware-agnostic software characterization*, IJPP 44(5), 2016.
"""

"""Profiles at scales that were never run: profiles of small runs -> models of every metric -> profiles.

In: profiles of one application at several scales and the classes of their threads. Out: a
:class:`~commanalyzer.profiles.extrapolation.models.MetricModel` per class and metric, their accuracy, and
profiles at any values of the scaling parameters. Terms are selected by the core of
:mod:`commanalyzer.scaling.laws`; what is special here are the terms that are tried (complexity definitions,
shares per thread), how metrics are turned into numbers that grow like the work, and constraints.

Reference: *IBM Exascale Extrapolator manual*, 2018, Sections 4 to 9; G. Mariani et al., *Scaling properties
of parallel applications to exascale*, IJPP 44(5), 2016.
"""

"""Classes of threads that behave alike, in every run and across runs.

In: profiles of one application at several scales. Out:
:class:`~commanalyzer.profiles.classification.classes.Classes`, one class number per thread of every run. Two
methods: clusters of all metrics, and regularity of the communication pattern. A class means the same in every
run; a run need not have threads of every class.

Reference: *IBM Exascale Extrapolator manual*, 2018, Section 5 and Appendix B.3.
"""

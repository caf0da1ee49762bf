"""Profile runs: a program is instrumented lightly, run once more, and measured.

In: an :class:`~commanalyzer.request.AnalysisRequest`. Out: a :class:`~commanalyzer.profiles.values.Profile`.
Instrumented code writes which segments of code are executed and which addresses they access
(``runtime_shim/profile``); everything else is known before the run.
"""

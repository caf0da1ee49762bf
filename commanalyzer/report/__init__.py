"""Results for people and programs: terminal, JSON, HTML, figures.

In: values of any other room. Out: text and files. Only ``cli`` and ``api`` import it, but for ``figures/``,
which knows plain numbers only.
"""

"""Configuration of the documentation: ``sphinx-build -W docs build/docs``."""

from __future__ import annotations

from commanalyzer.foundation.version import tool_version

project = "CommAnalyzer"
author = "The CommAnalyzer authors"
release = tool_version()
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
html_theme = "furo"
html_title = "CommAnalyzer"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Pages are read in the repository, too: `sh` and `console` blocks keep their `$`.
suppress_warnings = ["misc.highlighting_failure"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_use_ivar = True
exclude_patterns = ["_build"]

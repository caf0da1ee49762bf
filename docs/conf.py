"""Configuration of the documentation: ``sphinx-build -W docs build/docs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from commanalyzer.foundation.version import tool_version

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "CommAnalyzer"
author = "The CommAnalyzer authors"
copyright = "2026, the CommAnalyzer authors. Licence: BSD-3-Clause"
release = tool_version()
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
html_theme = "furo"
html_title = "CommAnalyzer"
html_theme_options = {"top_of_page_buttons": ["view"]}  # the page's Markdown, which is built with it
html_static_path = ["_static/site.css"]
html_css_files = ["site.css"]
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
smartquotes_action = "qe"  # quotes and ellipses; -- begins an option


def setup(app: Sphinx) -> None:
    """Help texts are plain text: what would be markup in them is not."""
    for part in ("description", "options", "epilog"):
        app.connect(f"sphinx-click-process-{part}", _as_plain_text)


def _as_plain_text(app: Sphinx, ctx: object, lines: list[str]) -> None:
    lines[:] = [s if s.lstrip().startswith(".. ") else re.sub(r"[*`]|(?<=.)\|", r"\\\g<0>", s) for s in lines]

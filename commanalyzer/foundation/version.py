"""Version of this package."""

from __future__ import annotations

from importlib import metadata


def tool_version() -> str:
    """Version of the installed package, ``unknown`` when it runs from a source tree."""
    try:
        return metadata.version("commanalyzer")
    except metadata.PackageNotFoundError:
        return "unknown"

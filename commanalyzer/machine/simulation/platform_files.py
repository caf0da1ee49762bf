"""Platform files of the user: names of the hosts, in the order of the file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.platforms import MAX_HOSTS, Platform

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def read_platform(path: Path, host_file: Path | None = None) -> Platform:
    """Platform described by a file of SimGrid.

    Args:
        path: XML file.
        host_file: Names of the hosts to use, one per line; ``None`` for all hosts of the file.

    Raises:
        ConfigError: If a file cannot be read or is no platform, or has no hosts.
    """
    text = _text(path)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"expected an XML file, found: {error}", where=str(path)) from error
    if root.tag != "platform":
        raise ConfigError(f"expected the element platform, found {root.tag}", where=str(path))
    hosts = _listed(_text(host_file)) if host_file is not None else _hosts(root, path)
    if not hosts:
        raise ConfigError(
            "expected hosts, found none that are listed in the file",
            where=str(host_file or path),
            hint="name them in a file for --hosts",
        )
    return Platform(str(path), text, hosts)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"expected a readable file, found: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"expected text in UTF-8, found: {error.reason}", where=str(path)) from error


def _listed(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _hosts(root: ElementTree.Element, path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for element in root.iter():
        if element.tag == "host":
            names.append(element.get("id", ""))
        elif element.tag == "cluster":
            names += _cluster_hosts(element, path)
        if len(names) > MAX_HOSTS:
            raise ConfigError(f"expected at most {MAX_HOSTS} hosts, found more", where=str(path))
    return tuple(names)


def _cluster_hosts(element: ElementTree.Element, path: Path) -> list[str]:
    names = []
    for part in element.get("radical", "").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ConfigError(f"expected a radical such as 0-15, found {part!r}", where=str(path))
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if last - first > MAX_HOSTS:
            raise ConfigError(f"expected at most {MAX_HOSTS} hosts, found {part!r}", where=str(path))
        names += [
            f"{element.get('prefix', '')}{number}{element.get('suffix', '')}"
            for number in range(first, last + 1)
        ]
    return names

"""Saves and loads classes: a JSON document of kind ``commanalyzer.classes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from commanalyzer.foundation.documents import load_document, number
from commanalyzer.foundation.errors import ArtifactError, ProfileError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.classification.classes import Classes, Group, RunClasses, Source

KIND = "commanalyzer.classes"
SCHEMA = 1
_SPREAD = ("min", "max", "median", "mean", "stdev")


def classes_json(classes: Classes) -> str:
    """JSON text; communication groups with the names of Appendix B.3."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "application": classes.application,
        "method": classes.method,
        "classes": list(classes.names),
        "runs": [_run(run) for run in classes.runs],
        "votes": [
            {"voter": voter, "voted": voted, "classes": list(vote)}
            for (voter, voted), vote in sorted(classes.votes.items())
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def save_classes(classes: Classes, path: Path, *, force: bool = False) -> None:
    """Write a document, completely or not at all.

    Raises:
        ArtifactError: If the file exists and ``force`` is false, or cannot be written.
    """
    write_text(path, classes_json(classes), force=force)


def load_classes(path: Path) -> Classes:
    """Classes saved in ``path``.

    Raises:
        ArtifactError: If it is missing, of another kind or damaged.
    """
    content = load_document(
        path,
        KIND,
        SCHEMA,
        what="a file of classes",
        hint="write one with: commanalyzer classify ... -o classes.json",
    )
    try:
        return Classes(
            str(content["application"]),
            str(content["method"]),
            tuple(map(str, content["classes"])),
            tuple(map(_read_run, content["runs"])),
            {(int(v["voter"]), int(v["voted"])): tuple(map(int, v["classes"])) for v in content["votes"]},
        )
    except (LookupError, TypeError, AttributeError, ValueError, ProfileError) as error:
        raise ArtifactError(f"expected classes, found damaged ones: {error!r}", where=str(path)) from error


def _run(run: RunClasses) -> dict[str, object]:
    found: dict[str, object] = {
        "scale": dict(run.scale),
        "threads": [list(thread) for thread in run.threads],
        "classes": run.classes.tolist(),
        "topology": run.topology,
        "groups": [_group(group) for group in run.groups],
    }
    if run.reduced is not None:
        found["components"] = run.reduced.tolist()
    return found


def _group(group: Group) -> dict[str, object]:
    dimensions = {
        f"dimension{i + 1}": {"stride": stride, "iterations": iterations}
        for i, (stride, iterations) in enumerate(group.dimensions)
    }
    vector = [
        {
            "absoluteSrc" if source.is_absolute else "relativeSrc": source.relative,
            **{f"{name}Size": value for name, value in zip(_SPREAD, source.sizes, strict=True)},
            **{f"{name}Msgs": value for name, value in zip(_SPREAD, source.messages, strict=True)},
        }
        for source in group.sources
    ]
    return {
        "startRank": group.start,
        "dimensions": len(group.dimensions),
        **dimensions,
        "communicationVector": vector,
    }


def _read_run(content: dict[str, Any]) -> RunClasses:
    components = content.get("components")
    return RunClasses(
        {str(k): number(v) for k, v in content["scale"].items()},
        tuple((int(process), int(thread)) for process, thread in content["threads"]),
        np.array(content["classes"], dtype=np.int64),
        tuple(map(_read_group, content["groups"])),
        str(content["topology"]),
        None if components is None else np.array(components, dtype=np.float64),
    )


def _read_group(content: dict[str, Any]) -> Group:
    dimensions = [content[f"dimension{i + 1}"] for i in range(int(content["dimensions"]))]
    return Group(
        int(content["startRank"]),
        tuple((int(d["stride"]), int(d["iterations"])) for d in dimensions),
        tuple(map(_read_source, content["communicationVector"])),
    )


def _read_source(content: dict[str, Any]) -> Source:
    absolute = "absoluteSrc" in content
    sizes, messages = (
        tuple(number(content[f"{name}{what}"]) for name in _SPREAD) for what in ("Size", "Msgs")
    )
    return Source(
        int(content["absoluteSrc" if absolute else "relativeSrc"]),
        absolute,
        (sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]),
        (messages[0], messages[1], messages[2], messages[3], messages[4]),
    )

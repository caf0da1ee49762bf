"""Saves and loads classes: a JSON document of kind ``commanalyzer.classes``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from commanalyzer.foundation.documents import Fields, document_text, load_document, reading, typed
from commanalyzer.profiles.classification.classes import Classes, RankGroup, RunClasses

KIND = "commanalyzer.classes"
SCHEMA = 1
_SPREAD = ("min", "max", "median", "mean", "stdev")


@dataclass(frozen=True, slots=True)
class _Vote:
    voter: int
    voted: int
    classes: tuple[int, ...]


def classes_json(classes: Classes) -> str:
    """JSON text; communication groups with the names of Appendix B.3."""
    content = {
        "kind": KIND,
        "schema": SCHEMA,
        "application": classes.application,
        "method": classes.method,
        "classes": classes.names,
        "runs": [_run(run) for run in classes.runs],
        "votes": [_Vote(*pair, vote) for pair, vote in sorted(classes.votes.items())],
    }
    return document_text(content)


def load_classes(path: Path) -> Classes:
    """Classes saved in ``path``; ``ArtifactError`` if it is missing, of another kind or damaged."""
    content = load_document(
        path,
        KIND,
        SCHEMA,
        what="a file of classes",
        hint="write one with: commanalyzer classify ... -o classes.json",
    )
    with reading(path, "classes"):
        votes = typed(content["votes"], list[_Vote])
        own = {**content, "names": content["classes"], "runs": list(map(_run_of, content["runs"]))}
        return replace(
            typed(own | {"votes": {}}, Classes), votes={(v.voter, v.voted): v.classes for v in votes}
        )


def _run(run: RunClasses) -> dict[str, object]:
    found: dict[str, object] = {
        "scale": run.scale,
        "threads": run.threads,
        "classes": run.classes,
        "topology": run.topology,
        "groups": [_group(group) for group in run.groups],
    }
    if run.reduced is not None:
        found["components"] = run.reduced
    return found


def _group(group: RankGroup) -> dict[str, object]:
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


def _run_of(content: Fields) -> dict[str, object]:
    """Fields of a :class:`RunClasses` of what :func:`_run` gives."""
    groups = [
        {
            "start": group["startRank"],
            "dimensions": [
                (group[f"dimension{i + 1}"]["stride"], group[f"dimension{i + 1}"]["iterations"])
                for i in range(group["dimensions"])
            ],
            "sources": list(map(_source_of, group["communicationVector"])),
        }
        for group in content["groups"]
    ]
    return {
        **content,
        "groups": groups,
        "topology": content["topology"],
        "reduced": content.get("components"),
    }


def _source_of(content: Fields) -> dict[str, object]:
    absolute = "absoluteSrc" in content
    return {
        "relative": content["absoluteSrc" if absolute else "relativeSrc"],
        "is_absolute": absolute,
        "sizes": [content[f"{name}Size"] for name in _SPREAD],
        "messages": [content[f"{name}Msgs"] for name in _SPREAD],
    }

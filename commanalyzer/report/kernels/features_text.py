"""Features of kernels as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commanalyzer.foundation.quantities import format_count, format_percent
from commanalyzer.kernels.features.kernels import KernelFeatures, mix
from commanalyzer.kernels.features.static import COUNTED

SCHEMA = "commanalyzer.features/1"
_LEAST_SHOWN = 0.005  # of a mix; less is 0 % in print


def show_features(kernels: Sequence[KernelFeatures], console: Console) -> None:
    """Print a table of kernels."""
    if not kernels:
        console.print(Text("no loop, hence no kernel"))
        return
    table = Table()
    for name in ("kernel", "items", "instructions", "coalesced"):
        table.add_column(name, justify="left" if name == "kernel" else "right", no_wrap=True)
    table.add_column("mix: by the heuristic" + (", in the run" if kernels[0].measured else ""))
    for k in kernels:
        items = k.runtime.get("work_items")
        shown = f"{k.item_loops}-D" if items is None else f"{k.item_loops}-D {format_count(round(items))}"
        static = k.static
        lines = [_mix(mix(k.counts))]
        if k.measured is not None:
            lines.append(_mix(mix(k.measured.counts)) if k.measured.launches else "did not run")
        total = f"{static['total']:.4g}"
        table.add_row(k.name, shown, total, format_percent(static["coalesced"]), "\n".join(lines))
    console.print(table)
    errors = [k.heuristic_error for k in kernels if k.heuristic_error is not None]
    if errors:
        worst = format_percent(max(errors))
        console.print(
            Text(f"Largest difference of a share between heuristic and run: {worst} of all instructions.")
        )


def _mix(shares: dict[str, float]) -> str:
    shown = sorted((-share, kind) for kind, share in shares.items() if share >= _LEAST_SHOWN)
    return ", ".join(f"{kind} {format_percent(-share)}" for share, kind in shown)


def features_json(kernels: Sequence[KernelFeatures]) -> str:
    """JSON text of all kernels."""
    content = {"schema": SCHEMA, "kernels": [_document(k) for k in kernels]}
    return json.dumps(content, indent=1) + "\n"


def _document(k: KernelFeatures) -> dict[str, object]:
    counts = dict(zip(COUNTED, map(float, k.counts), strict=True))
    found: dict[str, object] = {
        "name": k.name,
        "file": Path(k.place.file).name,
        "line": k.place.line,
        "item_loops": k.item_loops,
        "copies": k.copies,
        "static": k.static,
        "counts_per_item": counts,
        "runtime": k.runtime,
    }
    if k.measured is not None:
        found["measured"] = {
            "launches": k.measured.launches,
            "items": k.measured.items,
            "mix": mix(k.measured.counts),
            "instructions": float(k.measured.counts[COUNTED.index("total")]),
            "input_bytes": list(k.measured.input_bytes),
            "output_bytes": list(k.measured.output_bytes),
            "largest_difference": k.heuristic_error,
        }
    return found

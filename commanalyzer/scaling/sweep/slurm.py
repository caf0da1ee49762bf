"""Text of a Slurm script: one array task per point, and a last job that gathers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array={array}
#SBATCH --ntasks=1
#SBATCH --output={log}
{extra}#
# {points} points, one array task each. Submit with:  bash {name}
# (submits the array and, after it, a job that gathers the table)
set -eu
cd {folder}
if [ -z "${{SLURM_JOB_ID:-}}" ]; then
    array=$(sbatch --parsable {name})
    sbatch --array=0-0 --dependency="afterany:${{array%%;*}}" {name} gather
    exit
fi
if [ "${{1:-}}" = gather ]; then
    exec {tool} sweep --gather {directory}
fi
exec {tool} sweep --task "$SLURM_ARRAY_TASK_ID" {arguments}
"""


def slurm_script(
    *,
    script: Path,
    indices: Sequence[int],
    tool: Sequence[str],
    arguments: Sequence[str],
    directory: Path,
    folder: Path,
    options: Sequence[str] = (),
) -> str:
    """Script that analyses points.

    Args:
        script: Where it will be.
        indices: Points to analyse, increasing.
        tool: Command that starts this tool.
        arguments: Arguments of ``commanalyzer sweep`` as the user gave them.
        directory: Directory of the sweep.
        folder: Working directory, absolute.
        options: Further options of ``sbatch``.
    """
    extra = "".join(f"#SBATCH {option}\n" for option in options)
    return _SCRIPT.format(
        array=array_ranges(indices),
        log=shlex.quote(str(directory.absolute() / "slurm-%A_%a.log")),
        extra=extra,
        points=len(indices),
        name=shlex.quote(str(script.absolute())),
        folder=shlex.quote(str(folder)),
        tool=shlex.join(tool),
        directory=shlex.quote(str(directory.absolute())),
        arguments=shlex.join(arguments),
    )


def array_ranges(indices: Sequence[int]) -> str:
    """Increasing indices as ``sbatch --array`` wants them: ``0-3,7,9-10``."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)

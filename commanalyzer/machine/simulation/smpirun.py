"""Runs SimGrid's ``smpirun`` as a subprocess and reads its clock.

SimGrid (LGPL) is a separate program, not a Python dependency: ``apt-get install libsimgrid-dev``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import ConfigError, TargetRunError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.machine.simulation.platforms import Platform
from commanalyzer.program.frontend.toolchain import run_tool

_INSTALL = "install SimGrid, on Debian and Ubuntu: apt-get install libsimgrid-dev"
# Time of the simulation in seconds and message; the default shows only six decimals.
_FORMAT = "%.12r|%m%n"
_EVENT = re.compile(r"^\s*(\d+\.\d+)\|(.*)$", re.MULTILINE)
_LAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Action:
    """A replayed action of one rank."""

    end_s: float  # simulated time at its end, seconds
    rank: int
    kind: str  # ``compute``, ``isend``, ``waitall`` ...
    # Bytes that it sends; those of a collective as its root and members send them at least
    sent_bytes: int = 0


def find_smpirun() -> Path:
    """The ``smpirun`` on the search path; ``ConfigError`` if there is none."""
    found = shutil.which("smpirun")
    if found is None:
        raise ConfigError("expected SimGrid's smpirun on the search path, found none", hint=_INSTALL)
    return Path(found)


def smpi_version() -> str:
    """First line of ``smpirun -version``, empty if none; ``ConfigError`` if there is no SimGrid."""
    done = run_tool([str(find_smpirun()), "-version"], timeout_s=60.0)
    return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0]


def replay(
    platform: Platform, traces: Sequence[str], timeout_s: float, folder: Path | None = None
) -> list[Action]:
    """Replay one trace per rank, rank i on the i-th host of ``platform``.

    ``timeout_s`` is a wall-clock limit; platform, hosts and traces are kept in ``folder`` where it is given.
    Returns what the ranks did, in the order in which it ended. Raises ``ConfigError`` if there is no SimGrid,
    or too few hosts; ``TargetRunError`` if the simulation failed or took too long.
    """
    with scratch_directory() as scratch:
        place = Path(scratch) if folder is None else folder
        names = [f"rank-{rank}.trace" for rank in range(len(traces))]
        for name, text in zip((*names, "traces.txt"), (*traces, "\n".join((*names, ""))), strict=True):
            (place / name).write_text(text, encoding="utf-8")
        options = ["-replay", "traces.txt", "--log=smpi_replay.thres:verbose", f"--log=root.fmt:{_FORMAT}"]
        text = smpirun(platform, len(traces), options, timeout_s, place)
    found = [(float(time), line.split()) for time, line in _EVENT.findall(text)]
    return [
        Action(end_s, int(words[0]), words[1], _sent_bytes(words, len(traces)))
        for end_s, words in found
        if len(words) > 1 and words[0].isdigit()
    ]


def _sent_bytes(words: Sequence[str], num_ranks: int) -> int:
    match words:
        case [_, "isend", _, _, size, *_]:
            return int(size)
        case [rank, "bcast", size, root, *_]:
            return int(size) * (num_ranks - 1) if rank == root else 0
        case [rank, "reduce", size, _, root, *_]:
            return 0 if rank == root else int(size)
        case [rank, "allreduce", size, *_]:  # to the first, and back
            return int(size) * (num_ranks - 1 if rank == "0" else 1)
    return 0


def smpirun(platform: Platform, num_ranks: int, words: Sequence[str], timeout_s: float, folder: Path) -> str:
    """Run ``smpirun`` and return its output, standard error included.

    ``words`` say what to run, with paths relative to ``folder``, where platform and hosts are written. Raises
    ``ConfigError`` if there is no SimGrid, or too few hosts; ``TargetRunError`` if the simulation failed or
    took too long.
    """
    if num_ranks > len(platform.hosts):
        raise ConfigError(
            f"expected a platform of at least {num_ranks} hosts, found {len(platform.hosts)}",
            where=platform.name,
        )
    (folder / "platform.xml").write_text(platform.xml, encoding="utf-8")
    hosts = "".join(f"{name}\n" for name in platform.hosts[:num_ranks])
    (folder / "hosts.txt").write_text(hosts, encoding="utf-8")
    command = [
        *(str(find_smpirun()), "-np", str(num_ranks), "-platform", "platform.xml", "-hostfile", "hosts.txt"),
        *words,
    ]
    with scratch_directory() as scratch:
        return _output(command, timeout_s, folder, Path(scratch))


def _output(command: Sequence[str], timeout_s: float, folder: Path, scratch: Path) -> str:
    """Output of a command that starts children of its own, which end with it."""
    done = run_tool(command, timeout_s=timeout_s, environment={"TMPDIR": str(scratch)}, directory=folder)
    if done.exit_status is None:
        raise TargetRunError(f"expected the simulation to end within {timeout_s:g} s", hint="raise --timeout")
    text = done.stdout + done.stderr
    if not done.ok:
        raise TargetRunError(
            f"expected the simulation to succeed, found exit status {done.exit_status}:\n"
            + "\n".join(text.strip().splitlines()[-_LAST_LINES:]),
            where="smpirun",
        )
    return text

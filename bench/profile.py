"""Cost of profile runs beside the native program and valgrind's lackey: ``python -m bench.profile``.

Writes ``workloads/PROFILES.md``. Times are CPU times of one process; with several runs the least one counts.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cases import CASES, ROOT, Case, request_of
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.profiles.run.measure import ProfileRequest, profile_program
from commanalyzer.profiles.values import DEFAULT_WINDOW, Profile
from commanalyzer.recording.record import compile_program
from commanalyzer.recording.runtime import build_native

OUTPUT = ROOT / "workloads" / "PROFILES.md"
WORKLOADS = ("heat2d", "stencil3d", "matmul", "spmv", "kmeans", "cg", "adi", "pagerank", "fem2d", "hydro3d")
_LONGEST_S = 15.0  # of a run under lackey
_LINES = (1 << 9, 1 << 14, 1 << 19)  # caches of 32 KiB, 1 MiB, 32 MiB
_COLUMNS = (
    *("workload", "arguments", "instructions", "native", "sampled", "exact", "parallelism"),
    *("lackey", "lackey, addresses", "error", "stated"),
)
_HEAD = """# Cost of profile runs

Made by `python -m bench.profile --scale {scale}`. Times are CPU seconds of one core, over those of
the native program: the canonical module compiled with `-O2`, which vectorises it, while profile runs
execute its accesses one by one. *Sampled* is mix, registers, footprint, branches, instruction reuse and
sampled data reuse for lines of 64 and 128 bytes; *exact* the same with exact data reuse; *parallelism*
the sampled run with a window of {window}. Lackey counts instructions (`--basic-counts`), and with
`--trace-mem=yes` writes the addresses that reuse distances would be computed from (to /dev/null);
what takes more than {longest:g} s there is "-". The error is the largest difference of the sampled
from the exact distribution at {lines} lines, beside the standard error that the run stated.

"""


@dataclass(frozen=True, slots=True)
class Row:
    """Costs of one workload: times over the native one."""

    case: Case
    arguments: tuple[str, ...]
    instructions: float
    native_s: float
    sampled: float
    exact: float
    parallelism: float
    lackey: float | None
    traced: float | None
    error: float
    stated: float

    @property
    def line(self) -> str:
        """Line of the table."""
        times = [self.sampled, self.exact, self.parallelism, self.lackey, self.traced]
        shown = " | ".join("-" if t is None else f"{t:.1f}" for t in times)
        words = f"{self.case.name} | {' '.join(self.arguments)}"
        size = f"{self.instructions:.3g} | {self.native_s:.3f} s"
        return f"| {words} | {size} | {shown} | {self.error:.4f} | {self.stated:.4f} |"


def _lackey(executable: Path, arguments: tuple[str, ...], *options: str) -> float | None:
    """CPU seconds under lackey; ``None`` without valgrind, or where it takes more than ``_LONGEST_S``."""
    if shutil.which("valgrind") is None:
        return None
    command = ["valgrind", "--tool=lackey", "--log-file=/dev/null", *options, str(executable), *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _measure(case: Case, scale: float) -> Row:
    arguments = case.command(scale)
    program = replace(request_of(case.name, arguments), program_output="discard")
    native = build_native(compile_program(program), program.compiler.link_flags)
    requests = (
        ProfileRequest(program, windows=()),
        ProfileRequest(program, is_exact=True, windows=()),
        ProfileRequest(program, windows=(DEFAULT_WINDOW,)),
    )
    runs = [profile_program(request, SilentProgress()) for request in requests]
    native_s = max(min(run.native_s for run in runs), 1e-3)
    error, stated = _errors(runs[0].profile, runs[1].profile)
    lackey = _lackey(native, arguments, "--basic-counts=yes")
    traced = _lackey(native, arguments, "--basic-counts=no", "--trace-mem=yes")
    return Row(
        case,
        arguments,
        runs[0].profile.ranks[0].mix.instructions,
        native_s,
        runs[0].profile_s / native_s,
        runs[1].profile_s / native_s,
        runs[2].profile_s / native_s,
        None if lackey is None else lackey / native_s,
        None if traced is None else traced / native_s,
        error,
        stated,
    )


def _errors(sampled: Profile, exact: Profile) -> tuple[float, float]:
    found, true = sampled.ranks[0].reuse(64), exact.ranks[0].reuse(64)
    assert found is not None
    assert true is not None
    return max(abs(found.at_most(n) - true.at_most(n)) for n in _LINES), found.error


def main() -> None:
    """Measure the chosen workloads and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="times the short run of bench.cases")
    parser.add_argument("--only", default="", help="workloads, separated by commas")
    chosen = parser.parse_args()
    wanted = chosen.only.split(",") if chosen.only else WORKLOADS
    head = _HEAD.format(
        scale=chosen.scale, window=DEFAULT_WINDOW, lines=", ".join(map(str, _LINES)), longest=_LONGEST_S
    )
    head += f"| {' | '.join(_COLUMNS)} |\n|{' --- | --- |' + ' ---: |' * 9}\n"
    lines = []
    for case in CASES:
        if case.name in wanted and not case.is_extra:
            lines.append(_measure(case, chosen.scale).line)
            sys.stdout.write(f"{lines[-1]}\n")
            OUTPUT.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

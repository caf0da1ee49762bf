"""Deliberate faults, and which test of the default run catches each: ``python -m bench.faults [NAME ...]``.

The checkout is copied; each fault in turn is put into the copy, the tests that should notice are run until
the first one fails, and the fault is taken out. Status 1 if one is not noticed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.cases import ROOT


@dataclass(frozen=True, slots=True)
class Fault:
    """A line of the package (or of the recorder) that is made wrong.

    Attributes:
        name: What is wrong.
        file: Path below the checkout.
        before: Text that the file has once.
        after: Text in its place.
        tests: Paths below ``tests/`` of the tests that are run.
    """

    name: str
    file: str
    before: str
    after: str
    tests: str


FAULTS = (
    Fault(
        "a dropped flow",
        "runtime_shim/src/rows.c",
        "out[i] = compacted(labels[i]);",
        "out[i] = compacted(labels[0]);",
        "unit/recording/instrument/test_recorded_chains.py property/test_flows.py",
    ),
    Fault(
        "a wrong stride",
        "commanalyzer/graph/reading/family_kernels.py",
        "number += round_[d] * wide(units, at + 2 + 2 * d)",
        "number += round_[d] * (wide(units, at + 2 + 2 * d) + 1)",
        "unit/graph/reading/test_ranges.py",
    ),
    Fault(
        "a lost byte in the matrix",
        "commanalyzer/communication/messages/exchanges.py",
        "np.add.at(comm_bytes, (self.sender, self.receiver), self.comm_bytes)",
        "np.add.at(comm_bytes, (self.sender, self.receiver), self.comm_bytes - (self.comm_bytes > 8))",
        "unit/communication/test_volume.py",
    ),
    Fault(
        "a swapped owner",
        "commanalyzer/communication/uses.py",
        "    code = part.astype(dtype)\n",
        "    code = part.astype(dtype)\n    code[:2] = part[:2][::-1]\n",
        "unit/communication/test_volume.py",
    ),
    Fault(
        "an ignored library call",
        "commanalyzer/program/ir/library/libm.toml",
        '"{pow,sinh,cosh,tanh,asinh,acosh,atanh}{,f,l}" = { effect = "pure", flops = 16 }',
        '"{pow,sinh,cosh,tanh,asinh,acosh,atanh}{,f,l}" = { effect = "pure", flops = 16, values = [] }',
        "unit/program/ir/test_libcalls.py e2e/test_library.py",
    ),
    Fault(
        "an unbalanced division called balanced",
        "commanalyzer/division/selection.py",
        "within = [i for i, value in enumerate(imbalance) if value <= allowed]",
        "within = [i for i, value in enumerate(imbalance) if value <= 2 * allowed]",
        "unit/division unit/result/test_confidence.py",
    ),
    Fault(
        "a law's coefficient",
        "commanalyzer/scaling/laws/selection.py",
        "coefficients=tuple(errors.coefficients[index].tolist()),",
        "coefficients=tuple((1.05 * errors.coefficients[index]).tolist()),",
        "unit/scaling/laws",
    ),
    Fault(
        "a truncated file accepted",
        "commanalyzer/recording/trace.py",
        'if int(header["magic"]) != TRACE_MAGIC:',
        "if False:",
        "unit/recording/trace",
    ),
    Fault(
        "a report number off by one",
        "commanalyzer/report/result/text.py",
        "format_count(d.communication.total_messages)),",
        "format_count(d.communication.total_messages + 1)),",
        "unit/report",
    ),
    Fault(
        "an exit code",
        "commanalyzer/foundation/errors.py",
        "EXIT_TARGET_FAILED = 3",
        "EXIT_TARGET_FAILED = 4",
        "unit/cli test_architecture.py",
    ),
)


def _copy(folder: Path) -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())


def _caught_by(fault: Fault, folder: Path) -> str:
    """Name of the first test that fails; empty if none does."""
    path = folder / fault.file
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.before) == 1, f"{fault.file}: expected once: {fault.before}"
    path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    tests = [f"tests/{name}" for name in fault.tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COMMANALYZER_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    path.write_text(text, encoding="utf-8")
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def main(names: list[str]) -> int:
    """Put every fault that is named, or all, into a copy."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        _copy(Path(folder))
        for fault in FAULTS:
            if names and fault.name not in names:
                continue
            caught = _caught_by(fault, Path(folder))
            missed += not caught
            sys.stdout.write(f"{fault.name}: {caught or 'NOT CAUGHT'}\n")
            sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

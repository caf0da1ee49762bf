"""Feeds changed files of every kind to the tool: each must be read, or refused with a clear error.

    python -m tests.fuzz.files --files 1000 --seed 1 --kind result --kind laws --keep failures/

Every file is read in a process of its own. It fails if that ends by a signal, takes more than 60 s of CPU,
reports an internal error (exit status 70), or accepts a result whose bytes do not add up. Exit status 1 when
a file failed; it is kept. Of the others it is said how many were refused, and how many were read: as the
file before the change (nothing that was printed or written differs), or as something else.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import tomlkit

from commanalyzer.api import analyze
from commanalyzer.cli.main import main as command_line
from commanalyzer.division.owners import Owners
from commanalyzer.foundation.errors import EXIT_INTERNAL, CommAnalyzerError, UnsupportedIrError
from commanalyzer.graph.storage.store import GraphStore
from commanalyzer.program.frontend.drivers.embedded import Record, decode_records, encode_records
from commanalyzer.program.ir.libcalls import library_with
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.abi import ABI_VERSION, HEADER, TRACE_MAGIC
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite
from commanalyzer.recording.trace import read_trace
from commanalyzer.result.artifacts import load, save
from commanalyzer.result.results import AnalysisResult
from commanalyzer.scaling.laws.document import LawsDocument, laws_json
from commanalyzer.scaling.sweep.points import read_points
from tests.counted import counted_from
from tests.fuzz import mutations
from tests.graphs import grid
from tests.native import ROOT
from tests.samples import sample_decomposition, sample_result, with_hub
from tests.unit.scaling.laws.samples import HALO, MESSAGES, WORK

CPU_LIMIT_S = 60
_FAILED = 99  # exit status of a process that saw an error that is none of the project's
Mutate = Callable[[Path, random.Random], None]
Read = Callable[[Path], int]


@dataclass(frozen=True)
class Kind:
    """Files of one kind; what reads them returns an exit status."""

    name: str
    make: Callable[[Path], None]
    mutate: Mutate
    readers: Sequence[Read]


def _make_result(path: Path) -> None:
    graph = GraphStore.of(grid(12, count=5))
    part = (np.arange(graph.num_vertices) % 2).astype(np.int32)
    known = [
        replace(with_hub(sample_decomposition(2, bound=0.5)), owners=Owners.of(part)),
        replace(sample_decomposition(4, method="blocks 2x2"), owners=Owners.of(part)),
        replace(sample_decomposition(2, model="hpdc18"), owners=Owners.of(part)),
    ]
    sizes = np.arange(len(graph.objects)) == 0
    items = [replace(item, object_bytes=sizes * item.comm_bytes) for item in known]
    save(replace(sample_result(*items), store=graph), path)
    shutil.copyfile(path, path.with_name("same.cmz"))
    save(counted_from(known[0].communication.comm_bytes), path.with_name("counted.cmz"))


def _mutate_result(path: Path, random_: random.Random) -> None:
    if random_.random() < 0.3:
        path.write_bytes(mutations.flipped(path.read_bytes(), random_))
    else:
        mutations.hdf5(path, random_, lambda header: _json(header, random_))


def _json(content: bytes, random_: random.Random) -> bytes:
    try:
        known = json.loads(content)
    except (RecursionError, ValueError):  # changed before, as text
        known = None
    if known is None or random_.random() < 0.2:
        return mutations.text(content.decode(), random_).encode()
    return json.dumps(mutations.tree(known, random_)).encode()


def _mutate_json(path: Path, random_: random.Random) -> None:
    path.write_bytes(_json(path.read_bytes(), random_))


def _mutate_toml(path: Path, random_: random.Random) -> None:
    content = path.read_text()
    if random_.random() < 0.5:
        try:
            changed = tomlkit.dumps(mutations.tree(tomlkit.parse(content).unwrap(), random_))
        except Exception:  # noqa: BLE001 not every tree can be written
            changed = mutations.text(content, random_)
    else:
        changed = mutations.text(content, random_)
    path.write_text(changed)


def _mutate_text(path: Path, random_: random.Random) -> None:
    path.write_text(mutations.text(path.read_text(), random_))


def _mutate_bytes(path: Path, random_: random.Random) -> None:
    path.write_bytes(mutations.flipped(path.read_bytes(), random_))


def _command(*arguments: str) -> Read:
    """The command line, with the file in the place of FILE and its folder in that of FOLDER."""

    def read(path: Path) -> int:
        named = (argument.replace("FILE", str(path)) for argument in arguments)
        return command_line([argument.replace("FOLDER", str(path.parent)) for argument in named])

    return read


def _called(function: Callable[[Path], object]) -> Read:
    def read(path: Path) -> int:
        sys.stdout.write(repr(function(path)))
        return 0

    return read


def _instrument(path: Path) -> str:
    """What is LLVM's for LLVM; other text never gets beyond the child that canonicalizes it."""
    try:
        llvm.parse_assembly(path.read_text()).verify()
    except RuntimeError as error:
        raise UnsupportedIrError(str(error)) from error
    module = parse_module(path.read_text())
    return rewrite(module, plan_module(module, PlanOptions()))


def _make_records(path: Path) -> None:
    linked = Record("link", "a.out", "c", ("cc",), ("-lm",), "note")
    path.write_bytes(encode_records([Record("module", "a.c", "c", payload=b"BC" * 50), linked]))


def _make_trace(path: Path) -> None:
    header = np.zeros(1, HEADER)
    header["magic"], header["abi_version"] = TRACE_MAGIC, ABI_VERSION
    header["sections"]["offset"], header["sections"]["count"] = HEADER.itemsize, 1
    path.write_bytes(header.tobytes() + bytes(128))


def _write(content: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text(content)

    return make


def _copy(source: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        shutil.copyfile(ROOT / source, path)

    return make


_GRID = """double grid[12][12]; int main(int count, char **names) {
    for (int k = 0; k < 144; k++) grid[k / 12][k % 12] = count * k;
    for (int k = 12; k < 144; k++) grid[k / 12][k % 12] += grid[k / 12 - 1][k % 12];
    return grid[11][11] < 0;
}
"""


def _make_owner_map(path: Path) -> None:
    (source := path.with_name("grid.c")).write_text(_GRID)
    save(analyze(source, nodes=(2,), program_output="discard"), path.with_name("of-map.cmz"))
    lines = [f"grid,{i},{i % 2}" for i in range(144)]
    path.write_text("\n".join(("object,index,part", *lines)) + "\n")


_LAWS = laws_json(LawsDocument("heat2d", (HALO, WORK, MESSAGES), {"tool_version": "1"}))
_TABLE = "p,n,time\n" + "".join(f"{p},{n},{n * n / p + p}\n" for p in (2, 4, 8, 16) for n in (8, 16, 32, 64))
_MACHINE = ("--throughput", "1GFlop/s", "--bandwidth", "1GB/s", "--overlap", "0")

KINDS = {
    "result": Kind(
        "r.cmz",
        _make_result,
        _mutate_result,
        (
            _command("show", "FILE", "--all"),
            _command("show", "FILE", "--json", "-"),
            _command("report", "FILE", "-o", "FOLDER/page.html", "-q"),
            _command("matrix", "FILE"),
            _command("bound", "FILE", *_MACHINE),
            _command("partition", "FILE", "--nodes", "3", "--effort", "quick", "-q"),
            _command("compare", "FILE", "FOLDER/counted.cmz"),
            _command("diff", "FILE", "FOLDER/same.cmz"),
            *(
                _command("export", "FILE", "--format", name, "-o", "FOLDER/out")
                for name in ("csv", "extrap", "graphml", "hmetis", "matrixmarket", "metis", "partition")
            ),
        ),
    ),
    "laws": Kind(
        "laws.json",
        _write(_LAWS),
        _mutate_json,
        (
            _command("advise", "FILE", "--param", "n=128", *_MACHINE),
            _command("advise", "FILE", "--param", "n=128", *_MACHINE, "--weak", "n", "--json", "-"),
        ),
    ),
    "machine": Kind(
        "machine.toml",
        _copy("commanalyzer/machine/published/summit-edr.toml"),
        _mutate_toml,
        (
            _command("machine", "show", "FILE"),
            _command("model", "--machine", "FILE", "--intensity", "0.01", "--nodes", "64", *_MACHINE[:2]),
        ),
    ),
    "owners": Kind(
        "owners.csv",
        _make_owner_map,
        _mutate_text,
        (_command("partition", "FOLDER/of-map.cmz", "--owner-map", "FILE", "--nodes", "2", "-q"),),
    ),
    "library": Kind(
        "library.toml",
        _copy("commanalyzer/program/ir/library/libc.toml"),
        _mutate_toml,
        (_called(library_with),),
    ),
    "points": Kind("points.csv", _write("n,m\n1,2\n3,4\n"), _mutate_text, (_called(read_points),)),
    "table": Kind(
        "table.csv",
        _write(_TABLE),
        _mutate_text,
        (_command("fit", "FILE", "--metric", "time", "--param", "p", "--param", "n"),),
    ),
    "records": Kind(
        "records", _make_records, _mutate_bytes, (_called(lambda p: decode_records(p.read_bytes(), str(p))),)
    ),
    "trace": Kind("trace", _make_trace, _mutate_bytes, (_called(read_trace),)),
    "ir": Kind("local_arrays.ll", _copy("tests/ir/local_arrays.ll"), _mutate_text, (_called(_instrument),)),
    "loops": Kind("reduction.ll", _copy("tests/ir/reduction.ll"), _mutate_text, (_called(_instrument),)),
}


@dataclass(frozen=True)
class Outcome:
    """What became of one file, and what is wrong with how it was read, empty for nothing."""

    problem: str
    is_refused: bool
    output: tuple[bytes, ...]


class Trial:
    """Reads changed files of one kind, and what they were before."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self._kind, self._good = kind, folder
        kind.make(folder / kind.name)
        self._unchanged = {}
        for reader in kind.readers:
            with tempfile.TemporaryDirectory() as other:
                shutil.copytree(folder, other, dirs_exist_ok=True)
                found = self._unchanged[reader] = self._read(reader, Path(other))
                assert not found.problem and not found.is_refused, f"a good {kind.name} is not read: {found}"

    def run(self, seed: int, folder: Path) -> tuple[str, str]:
        """Change a file and read it; what became of it in a word, and what is wrong, empty for nothing."""
        random_ = random.Random(f"{self._kind.name} {seed}")
        shutil.copytree(self._good, folder, dirs_exist_ok=True)
        self._kind.mutate(folder / self._kind.name, random_)
        reader = random_.choice(self._kind.readers)
        found = self._read(reader, folder)
        if found.problem or found.is_refused:
            return ("failed" if found.problem else "refused"), found.problem
        return ("as before" if found.output == self._unchanged[reader].output else "otherwise"), ""

    def _read(self, reader: Read, folder: Path) -> Outcome:
        path, log = folder / self._kind.name, folder / "log"
        inputs = {item.name for item in folder.iterdir()}
        sys.stdout.flush()
        process = os.fork()
        if not process:
            _read_in_child(reader, path, log)
        _, status = os.waitpid(process, 0)
        problem = _problem(status, log)
        written = (item for item in sorted(folder.iterdir()) if item.name not in inputs)
        output = tuple(item.read_bytes().replace(str(folder).encode(), b"FOLDER") for item in written)
        return Outcome(problem, status != 0, output)


def _read_in_child(reader: Read, path: Path, log: Path) -> None:
    """Read a file, write down what is said, end with the exit status."""
    status = _FAILED
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        os.environ["COMMANALYZER_DEBUG"] = "1"
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 1))
        try:
            status = reader(path)
            if path.suffix == ".cmz" and not status:
                _require_conserved(load(path))
        except CommAnalyzerError as error:
            status = error.exit_code
        except BaseException:  # noqa: BLE001 what the tool should not do is what is looked for
            status = _FAILED
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _require_conserved(result: AnalysisResult) -> None:
    """The bytes of every division are those of its matrix, of its arrays, and of its pairs and hubs."""
    for known in result.decompositions:
        counted = known.communication
        sums = {"its matrix": int(counted.comm_bytes.sum())}
        if len(known.object_bytes):
            sums["its arrays"] = int(known.object_bytes.sum()) + counted.singleton_bytes
        if counted.peer_bytes is not None:
            sums["pairs and hubs"] = int(counted.peer_bytes.sum()) + sum(
                c.comm_bytes for c in counted.collectives or ()
            )
        for of, found in sums.items():
            assert found == known.comm_bytes, f"{known.method}: {known.comm_bytes} bytes, {found} of {of}"


def _problem(status: int, log: Path) -> str:
    """What is wrong with a process that ended so."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        is_slow = number in (signal.SIGXCPU, signal.SIGKILL)
        return f"no end after {CPU_LIMIT_S} s" if is_slow else f"ended by signal {number}"
    if os.WEXITSTATUS(status) in (EXIT_INTERNAL, _FAILED):
        said = log.read_text(errors="replace") if log.exists() else ""
        return said[-3000:] or "an internal error"
    return ""


def _read_changed(name: str, options: argparse.Namespace, became: Counter[str]) -> None:
    """Read changed files of a kind, add what became of each to ``became``."""
    with tempfile.TemporaryDirectory() as good:
        trial = Trial(KINDS[name], Path(good))
        for seed in range(options.seed, options.seed + options.files):
            with tempfile.TemporaryDirectory() as folder:
                outcome, problem = trial.run(seed, Path(folder))
                became[outcome] += 1
                if problem:
                    kept = options.keep / f"{name}-{seed}"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(Path(folder) / KINDS[name].name, kept)
                    sys.stdout.write(f"{kept}: {problem}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=100, help="of each kind")
    parser.add_argument("--seed", type=int, default=1, help="of the first file")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="repeatable; all if left out")
    parser.add_argument("--keep", type=Path, default=Path("file-failures"), help="folder for failing files")
    options = parser.parse_args()
    failures = 0
    for name in options.kind or KINDS:
        became: Counter[str] = Counter()
        is_interrupted = False
        try:
            _read_changed(name, options, became)
        except KeyboardInterrupt:
            is_interrupted = True
        failures += became["failed"]
        sys.stdout.write(
            f"{name}: of {became.total()} files {became['refused']} were refused, {became['as before']} read "
            f"as before the change, {became['otherwise']} as something else, {became['failed']} failed\n"
        )
        if is_interrupted:
            return 128 + signal.SIGINT
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

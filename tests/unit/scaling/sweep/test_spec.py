"""Keys of points: what changes a result changes the key, and nothing else."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commanalyzer.foundation.errors import CompileError, ConfigError
from commanalyzer.program.frontend.compile import FrontendResult
from commanalyzer.program.frontend.toolchain import Toolchain, find_toolchain
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.scaling.sweep import points as spec
from commanalyzer.scaling.sweep.executors import BATCH_SYSTEMS, batch_script
from commanalyzer.scaling.sweep.points import Point, filled, grid, parse_axis, read_points

POINT = Point((("n", "8"),))


class Compiler:
    """Stands for the front end: IR of the test's choice."""

    def __init__(self, toolchain: Toolchain) -> None:
        self.ir_text = "; module"
        self.error: CompileError | None = None
        self.link_inputs: tuple[Path, ...] = ()
        self._toolchain = toolchain

    def compile_program(self, request: AnalysisRequest) -> FrontendResult:
        if self.error is not None:
            raise self.error
        return FrontendResult(self.ir_text, "c", self._toolchain, (), (), link_inputs=self.link_inputs)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    fake = Compiler(find_toolchain(""))
    monkeypatch.setattr(spec, "compile_program", fake.compile_program)
    spec._program.cache_clear()
    yield fake
    spec._program.cache_clear()


@pytest.fixture
def base(tmp_path: Path) -> AnalysisRequest:
    for name in ("a.c", "in.txt", "model.toml", "owners.csv"):
        (tmp_path / name).write_text(name)
    return AnalysisRequest((tmp_path / "a.c",), ("8",))


def key(request: AnalysisRequest, point: Point = POINT) -> str:
    spec._program.cache_clear()
    return spec.key_of(point, request)


def test_a_key_is_the_same_in_every_run(compiler: Compiler, base: AnalysisRequest) -> None:
    assert key(base) == key(replace(base)) and len(key(base)) == 41


def test_limits_and_checks_do_not_matter(compiler: Compiler, base: AnalysisRequest) -> None:
    other = replace(base, timeout_s=5.0, memory_limit_bytes=10**9, check=True, program_output="discard")
    assert key(other) == key(base)


def test_the_recording_is_in_the_first_half(
    compiler: Compiler, base: AnalysisRequest, tmp_path: Path
) -> None:
    data = tmp_path / "in.txt"
    changes: dict[str, Any] = {
        "arguments": ("9",), "regions": ("f",), "control_flows": False, "private_temporaries": False,
        "stdin": data, "library_models": (tmp_path / "model.toml",),
        "compiler": CompilerOptions(link_flags=("-lm",)),
    }  # fmt: skip
    others = [replace(base, **{name: value}) for name, value in changes.items()]
    keys = [key(base), *map(key, others), key(base, Point((("n", "9"),)))]
    data.write_text("other")
    keys.append(key(replace(base, stdin=data)))
    compiler.ir_text = "; another module"
    keys.append(key(base))
    compiler.link_inputs = (data,)
    keys.append(key(base))
    data.write_text("a third")
    keys.append(key(base))
    recordings, countings = zip(*(k.split("-") for k in keys), strict=True)
    assert len(set(recordings)) == len(keys) and len(set(countings)) == 1


def test_counting_is_in_the_second_half(compiler: Compiler, base: AnalysisRequest, tmp_path: Path) -> None:
    owners = tmp_path / "owners.csv"
    others = [
        replace(base, nodes=(2, 4)),
        replace(base, models=("hpdc18",)),
        replace(base, seed=2),
        replace(base, imbalance=0.1),
        replace(base, high=0.8),
        replace(base, decompose=("u=block2d",)),
        replace(base, owner_map=owners),
    ]
    keys = [key(base), *map(key, others)]
    owners.write_text("other")
    keys.append(key(replace(base, owner_map=owners)))
    recordings, countings = zip(*(k.split("-") for k in keys), strict=True)
    assert len(set(recordings)) == 1 and len(set(countings)) == len(keys)


def test_nothing_compiled_is_no_sweep(compiler: Compiler, base: AnalysisRequest, tmp_path: Path) -> None:
    assert [s.index for s in spec.specifications([POINT, POINT], [base, base], tmp_path)] == [0, 1]
    compiler.ir_text = "; edited"
    edited = spec.specifications([POINT], [base], tmp_path)
    assert edited[0].key == key(base)
    compiler.error = CompileError("expected ;")
    with pytest.raises(CompileError, match="expected ;"):
        spec.specifications([POINT, POINT], [base, base], tmp_path)


def test_what_does_not_compile_has_a_key_of_its_message(compiler: Compiler, base: AnalysisRequest) -> None:
    compiler.error = CompileError("expected ;")
    broken = key(base)
    assert key(base) == broken
    base.sources[0].write_text("other")
    assert key(base) != broken
    compiler.error = None
    assert key(base) != broken


# Runs at once, under the name of what submits: an array's tasks, one after the other, or a single job.
SUBMIT = """#!/bin/bash
echo "$*" >>"$CALLS"
script="${@: -1}"; [ -f "$script" ] || script="$CALLS.script"; [ -f "$script" ] || cat >"$script"
range=$(echo "$*" | sed -n 's/.*[=[ ]1-\\([0-9:]*\\).*/\\1/p')
[ "$range" != 2:2 ] || range=1
for task in $([ -z "$range" ] && echo "none" || seq $range); do
    [ $task != none ] || task=$NONE
    env $JOB=7 $TASK=$task bash "$script" >>"$CALLS.out"
done
[ -z "$range" ] || echo "$SAID"
"""


@pytest.mark.parametrize("indices", [(0, 2, 9), (4,)])
@pytest.mark.parametrize(
    ("system", "command", "none", "said", "after"),
    [
        ("slurm", "sbatch", "", "7;cluster", "--dependency=afterany:7"),
        ("pbs", "qsub", "", "7[].host", "-W depend=afterany:7[].host"),
        ("lsf", "bsub", "0", "Job <7> is submitted to default queue <q>.", "-w ended(7)"),
    ],
)
def test_all_points_are_analysed_then_gathered(
    system: str, command: str, none: str, said: str, after: str, indices: tuple[int, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (tmp_path / command).write_text(SUBMIT)
    (tmp_path / command).chmod(0o755)
    script, arguments = folder / "job's.sh", ["a b.c", "--args", "{n} 'x' $HOME"]
    text = batch_script(
        system, script=script, indices=indices, tool=("printf", "%s|"), arguments=arguments,
        directory=folder / "out", folder=folder, options=("-q", "fast"),
    )  # fmt: skip
    script.write_text(text)
    start, *_, job, task, _, _ = BATCH_SYSTEMS[system]
    environment = {"JOB": job, "TASK": task, "NONE": none, "SAID": said}
    environment |= {"CALLS": str(tmp_path / "calls"), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["bash", str(script)], env=environment, check=True)
    tasks = (["sweep", "--task", str(index), *arguments] for index in indices)
    expected = [*tasks, ["sweep", "--gather", str(folder / "out")]]
    assert (tmp_path / "calls.out").read_text() == "".join("|".join(words) + "|" for words in expected)
    assert (tmp_path / "calls").read_text().splitlines()[1].startswith(after)
    lines = text.splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith(start))
    assert f"{start}-q fast" == lines[last] and all(line.startswith("#") for line in lines[:last])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=64,128", ("64", "128")),
        ("n=64..500x2", ("64", "128", "256")),
        ("n=1..9:4", ("1", "5", "9")),
        ("n=3..5", ("3", "4", "5")),
        ("n=8,1..2,8", ("8", "1", "2")),
        ("kind=banded,small-world", ("banded", "small-world")),
        ("x=1e-3,-2.5", ("1e-3", "-2.5")),
    ],
)
def test_values_of_a_parameter(text: str, values: tuple[str, ...]) -> None:
    axis = parse_axis(text)
    assert axis.values == values and axis.name == text.partition("=")[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [("n", "'n'"), ("n=", "'n='"), ("2n=1", "'2n'"), ("n=1,,2", "found none"), ("n=9..3", "'9..3'"),
     ("n=0..9x2", "'0..9x2'"), ("n=1..9:0", "'1..9:0'"), ("n=1..99999999", "99999999"),
     ("nodes=1", "'nodes'"), ("p=4", "'p'")],
)  # fmt: skip
def test_other_texts_are_refused(text: str, found: str) -> None:
    with pytest.raises(ConfigError, match=found):
        parse_axis(text)


def test_a_grid_has_all_combinations() -> None:
    points = grid([parse_axis("n=1,2"), parse_axis("mode=a,b")])
    assert [point.label for point in points] == ["n=1 mode=a", "n=1 mode=b", "n=2 mode=a", "n=2 mode=b"]
    with pytest.raises(ConfigError, match="each parameter once"):
        grid([parse_axis("n=1"), parse_axis("n=2")])
    with pytest.raises(ConfigError, match="at most 10000 points, found 1000000"):
        grid([parse_axis("n=1..1000"), parse_axis("m=1..1000")])


def test_points_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("n, steps\n64, 10\n128, 5\n64, 10\n\n")
    assert [point.label for point in read_points(file)] == ["n=64 steps=10", "n=128 steps=5"]
    for text, found in (
        ("n\n", "found less"),
        ("n,m\n1\n", "found line 2"),
        ("n,n\n1,2\n", "found n, n"),
        ("comm_bytes\n1\n", "'comm_bytes'"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError, match=found):
            read_points(file)
    with pytest.raises(ConfigError, match="No such file"):
        read_points(tmp_path / "none.csv")


def test_templates_are_filled() -> None:
    point = Point((("n", "64"), ("mode", "swap")))
    assert point.fill("{n}x{n} {mode} {{n}}") == "64x64 swap {n}"
    for text in ("{m}", "{", "}", "{n:>5}", "{n!r}", "{}", "{n.real}"):
        with pytest.raises(ConfigError, match="expected parameters in braces"):
            point.fill(text)


def test_every_place_of_a_request_is_filled() -> None:
    base = AnalysisRequest(
        (Path("{mode}.c"),),
        ("{n}", "{n}{{}}"),
        compiler=CompilerOptions(flags=("-DN={n}",), link_flags=("-L{mode}",)),
        stdin=Path("in{n}.txt"),
        owner_map=Path("{n}.csv"),
    )
    points = grid([parse_axis("n=4,8"), parse_axis("mode=a")])
    first, second = filled(base, points)
    assert first.sources == (Path("a.c"),) and first.arguments == ("4", "4{}")
    assert (first.compiler.flags, first.compiler.link_flags) == (("-DN=4",), ("-La",))
    assert (first.stdin, first.owner_map) == (Path("in4.txt"), Path("4.csv"))
    assert second.arguments == ("8", "8{}") and second.program_output == "discard"


def test_a_parameter_that_changes_nothing_is_refused() -> None:
    base = AnalysisRequest((Path("a.c"),), ("{n}",))
    with pytest.raises(ConfigError, match=r"found \{m\} nowhere"):
        filled(base, grid([parse_axis("n=1"), parse_axis("m=2")]))

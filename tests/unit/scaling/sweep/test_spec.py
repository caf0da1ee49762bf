"""Keys of points: what changes a result changes the key, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.compile import FrontendResult
from commanalyzer.program.frontend.toolchain import Toolchain, find_toolchain
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.scaling.sweep import points as spec
from commanalyzer.scaling.sweep.points import Point

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
    others = [
        replace(base, arguments=("9",)),
        replace(base, regions=("f",)),
        replace(base, control_flows=False),
        replace(base, private_temporaries=False),
        replace(base, stdin=data),
        replace(base, library_models=(tmp_path / "model.toml",)),
        replace(base, compiler=CompilerOptions(link_flags=("-lm",))),
    ]
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

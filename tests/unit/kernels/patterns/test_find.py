"""Patterns of small loops with known answers; places and words of what is found."""

import json
from pathlib import Path

import pytest

from commanalyzer.cli.main import main
from commanalyzer.kernels.composition.systems import parse_system
from commanalyzer.kernels.patterns.find import FoundPattern, find_patterns
from commanalyzer.recording.record import compile_request
from commanalyzer.report.kernels.text import remarks
from commanalyzer.request import AnalysisRequest
from tests.unit.kernels.patterns.loops import LOOPS, Sample, program


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[FoundPattern]]:
    """What is found on each line."""
    path = tmp_path_factory.mktemp("patterns") / "loops.c"
    path.write_text(program().source)
    _, module = compile_request(AnalysisRequest(sources=(path,)))
    found: dict[int, list[FoundPattern]] = {}
    for pattern in find_patterns(module):
        found.setdefault(pattern.place.line, []).append(pattern)
    return found


@pytest.mark.parametrize("sample", LOOPS, ids=lambda s: s.name.replace(" ", "_"))
def test_pattern(sample: Sample, patterns: dict[int, list[FoundPattern]]) -> None:
    is_recursion = "/*!*/" in sample.functions
    at_line = patterns.get(program().lines[sample.name], [])
    (found,) = [p for p in at_line if p.is_loop != is_recursion]
    assert found.kind == sample.kind
    words = " | ".join(remarks(found))
    for text in sample.says:
        assert text in words
    if found.expression:
        parse_system(found.expression)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "loop.c"
    source.write_text(
        "double a[32];\nint main(int argc, char **argv) {\n"
        "    for (int i = 0; i < 32; i++)\n        a[i] = argc * i;\n    return a[7] > 99;\n}\n"
    )
    assert main(["patterns", str(source)]) == 0
    text = capsys.readouterr().out
    assert "do-all" in text and "loop.c:3" in text
    assert main(["patterns", str(source), "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["patterns"]
    assert (found["kind"], found["place"]["line"], found["iterations"]) == ("do-all", 3, 32)
    assert found["expression"] == "map(T, iteration)"


def test_a_program_without_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "none.c"
    source.write_text("int main(void) { return 0; }\n")
    assert main(["patterns", str(source)]) == 0
    assert "no loop made more than one iteration" in capsys.readouterr().out

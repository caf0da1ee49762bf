import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import commanalyzer
import commanalyzer.scaling.sweep.executors  # before there is a stub of the pipeline, which it uses
from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import CompileError, GraphInvariantError, TargetRunError
from commanalyzer.foundation.progress import Progress
from commanalyzer.request import AnalysisRequest, PartitionRequest
from commanalyzer.result.artifacts import load, save
from commanalyzer.result.results import AnalysisResult
from tests.samples import sample_decomposition, sample_result

Capture = pytest.CaptureFixture[str]


class Pipeline:
    """Stands for the pipeline: remembers requests, answers with a sample or an error."""

    def __init__(self) -> None:
        self.requests: list[AnalysisRequest] = []
        self.partitions: list[PartitionRequest] = []
        self.jobs: list[int] = []
        self.failure: BaseException | None = None

    def analyze(self, request: AnalysisRequest, progress: Progress, jobs: int) -> AnalysisResult:
        progress.stage("compile")
        progress.advance()
        self.requests.append(request)
        self.jobs.append(jobs)
        if self.failure is not None:
            raise self.failure
        return sample_result(*(sample_decomposition(n) for n in request.nodes), machine=request.machine)

    def repartition(
        self, result: AnalysisResult, request: PartitionRequest, progress: Progress, jobs: int
    ) -> AnalysisResult:
        self.partitions.append(request)
        self.jobs.append(jobs)
        return sample_result(*(sample_decomposition(n) for n in request.nodes))

    def explain(self, request: AnalysisRequest, *, line: int, occurrence: int) -> str:
        return f"{request.sources[0].name} line {line} occurrence {occurrence} {request.arguments}"

    def explain_loops(self, request: AnalysisRequest) -> str:
        return f"loops of {request.sources[0].name}"


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    stub = Pipeline()
    module = types.ModuleType("commanalyzer.pipeline")
    vars(module).update(analyze=stub.analyze, repartition=stub.repartition, explain=stub.explain)
    vars(module).update(explain_loops=stub.explain_loops)
    monkeypatch.setitem(sys.modules, "commanalyzer.pipeline", module)
    return stub


def test_options_reach_the_pipeline(pipeline: Pipeline, tmp_path: Path) -> None:
    machine = tmp_path / "m.toml"
    machine.write_text('name = "m"\nbandwidth = "1GB/s"\nthroughput = 2e9\n')
    words = (
        "--nodes 2..8x2 --model both --high 0.8 --region f --region g --no-control-flows --cc clang "
        "--ldflags -lfoo --timeout 2min --memory-limit 8GB --seed 5 --bandwidth 12.5GB/s --overlap 57% "
        "--check --stdin in.txt --jobs 3 -q"
    )
    options = words.split()
    options += ["--cflags", "-DN=3 -O1", "--machine", str(machine)]
    status = main(["analyze", "a.c", "b.c", *options, "--", "512", "--nodes", "--", "x y"])
    assert status == 0
    (request,) = pipeline.requests
    assert pipeline.jobs == [3]
    assert request.sources == (Path("a.c"), Path("b.c"))
    assert request.arguments == ("512", "--nodes", "--", "x y")
    assert request.nodes == (2, 4, 8)
    assert request.models == ("volume", "hpdc18")
    assert (request.high, request.seed, request.check) == (0.8, 5, True)
    assert request.regions == ("f", "g")
    assert not request.control_flows
    assert request.compiler.command == "clang"
    assert request.compiler.flags == ("-DN=3", "-O1")
    assert request.compiler.link_flags == ("-lfoo",)
    assert (request.timeout_s, request.memory_limit_bytes) == (120.0, 8_000_000_000)
    assert request.stdin == Path("in.txt")
    assert request.program_output == "inherit"
    assert request.machine.name == "m"
    assert request.machine.bandwidth is not None
    assert request.machine.bandwidth.value == 12.5e9
    assert request.machine.parameters["overlap"].value == 0.57
    assert request.machine.throughput is not None
    assert request.machine.throughput.source == "given"


def test_defaults(pipeline: Pipeline, capsys: Capture) -> None:
    assert main(["analyze", "a.c"]) == 0
    assert pipeline.jobs == [len(os.sched_getaffinity(0))]
    assert pipeline.requests[0] == AnalysisRequest(sources=(Path("a.c"),))
    out = capsys.readouterr().out
    assert "metis cut" in out
    assert "no efficiency bound" in out


def test_result_file_and_document(pipeline: Pipeline, tmp_path: Path, capsys: Capture) -> None:
    saved, document = tmp_path / "r.cmz", tmp_path / "r.json"
    command = ["analyze", "a.c", "--nodes", "4", "-o", str(saved), "--json", str(document)]
    assert main(command) == 0
    assert f"wrote {saved}\nwrote {document}\n" in capsys.readouterr().out
    assert load(saved).nodes == (4,)
    assert json.loads(document.read_text())["decompositions"][0]["nodes"] == 4
    assert main(command) == 1
    assert "--force" in capsys.readouterr().err
    assert len(pipeline.requests) == 1, "refused before the long run"
    assert main([*command, "--force"]) == 0


def test_document_on_stdout_is_alone_there(pipeline: Pipeline, tmp_path: Path, capsys: Capture) -> None:
    saved = tmp_path / "r.cmz"
    assert main(["analyze", "a.c", "--json", "-", "-o", str(saved)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["schema"] == "commanalyzer.analysis/2"
    assert f"wrote {saved}" in captured.err
    assert pipeline.requests[0].program_output == "stderr"


@pytest.mark.parametrize(
    ("failure", "status", "text"),
    [
        (CompileError("bad source", where="a.c", hint="fix"), 1, "error: a.c: bad source\n  hint: fix\n"),
        (TargetRunError("ended by signal 11"), 3, "error: ended by signal 11\n"),
        (GraphInvariantError("lost bytes"), 70, "this is a bug"),
        (ZeroDivisionError("oops"), 70, "internal error: ZeroDivisionError: oops"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "not enough memory"),
    ],
)
def test_exit_codes(
    pipeline: Pipeline, capsys: Capture, failure: BaseException, status: int, text: str
) -> None:
    pipeline.failure = failure
    assert main(["analyze", "a.c"]) == status
    err = capsys.readouterr().err
    assert text in err
    assert "Traceback" not in err


def test_trace_only_for_debugging(
    pipeline: Pipeline, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMANALYZER_DEBUG", "1")
    pipeline.failure = ZeroDivisionError("oops")
    assert main(["analyze", "a.c"]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Usage"),
        (["frobnicate"], "No such command"),
        (["analyze"], "SOURCES"),
        (["analyze", "a.c", "--frobnicate"], "No such option"),
        (["analyze", "a.c", "--nodes", "0"], "from 1"),
        (["analyze", "a.c", "--nodes"], "requires an argument"),
        (["analyze", "a.c", "--model", "exact"], "exact"),
        (["analyze", "a.c", "--memory-limit", "8Gb"], "Gbit for bits"),
        (["analyze", "a.c", "--seed", "x"], "x"),
        (["model", "--bandwidth", "1GB/s", "--throughput", "1e9"], "--intensity"),
    ],
)
def test_usage_errors(capsys: Capture, arguments: list[str], text: str) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert text in captured.err + captured.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "a.c", "--high", "2"],
        ["analyze", "a.c", "--overlap", "1"],
        ["analyze", "a.c", "--machine", "none.toml"],
        ["analyze", "a.c", "-o", "none/r.cmz"],
        ["analyze", "a.c", "-o", "same", "--json", "same"],
        ["analyze", "a.c", "--timeout", "0"],
        ["show", "none.cmz"],
        ["show", "."],
        ["model", "--intensity", "1"],
        ["model", "--comm-bytes", "8", "--flops", "0", "--bandwidth", "1GB/s", "--throughput", "1e9"],
    ],
)
def test_value_errors(
    pipeline: Pipeline, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["analyze", "--help"], ["export", "-h"], ["--version"]]
)
def test_help(capsys: Capture, arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert "commanalyzer" in capsys.readouterr().out


def test_exit_codes_are_documented(capsys: Capture) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "70 ", "130 "):
        assert f"\n    {code}" in text


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.cmz"
    save(sample_result(sample_decomposition(2), sample_decomposition(4)), path)
    return path


def test_show(saved: Path, capsys: Capture) -> None:
    assert main(["show", str(saved)]) == 0
    assert "What is communicated on 4 nodes" in capsys.readouterr().out
    assert main(["show", str(saved), "--json", "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)["decompositions"]) == 2


def test_matrix(saved: Path, capsys: Capture) -> None:
    assert main(["matrix", str(saved), "--nodes", "2", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "0,40\n0,0\n"
    assert main(["matrix", str(saved), "--format", "csv", "--messages"]) == 0
    assert capsys.readouterr().out == "0,1,0,0\n0,0,1,0\n0,0,0,1\n0,0,0,0\n"
    assert main(["matrix", str(saved)]) == 0
    assert "Decomposition(p=4" in capsys.readouterr().out
    assert main(["matrix", str(saved), "--nodes", "3"]) == 1


def test_partition(pipeline: Pipeline, saved: Path, capsys: Capture) -> None:
    assert main(["partition", str(saved), "--nodes", "64", "--model", "hpdc18", "-q"]) == 0
    assert pipeline.partitions == [PartitionRequest(nodes=(64,), models=("hpdc18",))]
    assert "64" in capsys.readouterr().out


def test_explain(pipeline: Pipeline, capsys: Capture) -> None:
    assert main(["explain", "a.c", "--line", "7", "--occurrence", "2", "--", "9"]) == 0
    assert capsys.readouterr().out == "a.c line 7 occurrence 2 ('9',)\n"
    assert main(["explain", "a.c", "--loops"]) == 0
    assert capsys.readouterr().out == "loops of a.c\n"


@pytest.mark.parametrize("options", [[], ["--loops", "--line", "7"]])
def test_explain_one_thing(pipeline: Pipeline, capsys: Capture, options: list[str]) -> None:
    assert main(["explain", "a.c", *options]) == 2
    assert "either --line or --loops" in capsys.readouterr().err


def test_model(capsys: Capture) -> None:
    numbers = ["--comm-bytes", "1GB", "--flops", "2e9", "--throughput", "4e9", "--nodes", "2"]
    assert main(["model", *numbers, "--bandwidth", "2GB/s", "--overlap", "50%"]) == 0
    # R I_c (1 - O_c) / B_c = 4e9 * 0.5 * 0.5 / 2e9 = 0.5; T_1 = 0.5 s; T_p = 0.5 / (2 * 2/3) = 0.375 s
    lines = [line.split()[-2:] for line in capsys.readouterr().out.splitlines()]
    assert lines == [["0.5", "bytes/flop"], ["66.7", "%"], ["500", "ms"], ["375", "ms"]]


@pytest.mark.parametrize(
    ("form", "check"),
    [
        ("json", lambda text: json.loads(text)["schema"] == "commanalyzer.analysis/2"),
        ("csv", lambda text: text.splitlines()[1:] == ["0,1,80,1"]),
        ("matrixmarket", lambda text: text.startswith("%%MatrixMarket") and text.endswith("\n1 2 80\n")),
        ("graphml", lambda text: "<graphml" in text and ">80<" in text),
        ("dot", lambda text: text.count("bytes=80") == 1 and text.startswith("digraph communication {\n")),
        ("hmetis", lambda text: len(text.splitlines()) > 1),
        ("metis", lambda text: len(text.splitlines()) > 1),
        ("partition", lambda text: text == "0\n1\n1\n"),
        ("extrap", lambda text: '"p": 2, "n": 256.0}' in text and '"value": [80.0]}' in text),
    ],
)
def test_export(tmp_path: Path, capsys: Capture, form: str, check: Callable[[str], bool]) -> None:
    """Of the blocks that a programmer would write, which send 80 bytes; the least found sends 40."""
    written = sample_decomposition(method="blocks 2", best=False, pair_bytes=80)
    saved, target = tmp_path / "saved.cmz", tmp_path / "out"
    save(sample_result(sample_decomposition(), written), saved)
    command = ["export", str(saved), "--format", form, "-o", str(target)]
    command += ["--param", "n=256"] * (form == "extrap")
    assert main(command) == 0
    assert check(target.read_text())
    assert main(command) == 1
    assert main([*command, "--force"]) == 0


@pytest.mark.parametrize(
    ("form", "unused"),
    [
        *(("hatchet", ["--model", "hpdc18"]), ("json", ["--nodes", "2"]), ("metis", ["--model", "volume"])),
        *(("csv", ["--param", "n=256"]), ("extrap", ["--nodes", "2"])),
    ],
)
def test_export_refuses_what_it_does_not_use(
    tmp_path: Path, capsys: Capture, form: str, unused: list[str]
) -> None:
    saved, target = tmp_path / "saved.cmz", tmp_path / "out"
    save(sample_result(sample_decomposition()), saved)
    assert main(["export", str(saved), "--format", form, "-o", str(target), *unused]) == 1
    assert f"expected options that --format {form} uses, found {unused[0]}" in capsys.readouterr().err
    assert not target.exists()


def test_streams_of_another_alphabet_are_no_error(tmp_path: Path) -> None:
    save(replace(sample_result(), command=("größe.c",)), tmp_path / "a.cmz")
    command = [sys.executable, "-m", "commanalyzer", "show", str(tmp_path / "a.cmz")]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"") and b"gr??e.c" in done.stdout


def test_closed_pipe_is_no_error(saved: Path) -> None:
    line = f'"{sys.executable}" -m commanalyzer show "{saved}" --json - | head -c 10; echo " ${{PIPESTATUS}}"'
    env = {**os.environ, "PYTHONPATH": str(Path(commanalyzer.__file__).parents[1])}
    done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, check=False, env=env)
    assert done.stdout.endswith(" 0\n")
    assert done.stderr == ""


def test_python_interface(pipeline: Pipeline, saved: Path) -> None:
    sys.modules.pop("commanalyzer.api", None)
    try:
        result = commanalyzer.analyze("a.c", args=[256, "50"], nodes=[16, 4], regions=["f"], high=0.5)
        assert result.nodes == (4, 16)
        request = AnalysisRequest((Path("a.c"),), ("256", "50"), nodes=(4, 16), regions=("f",), high=0.5)
        assert pipeline.requests == [request]
        assert commanalyzer.load(str(saved)).nodes == (2, 4)
        assert "analyze" in dir(commanalyzer)
        with pytest.raises(AttributeError, match="frobnicate"):
            getattr(commanalyzer, "frobnicate")  # noqa: B009 the dynamic lookup is what is tested
    finally:
        # It holds on to the stub.
        sys.modules.pop("commanalyzer.api", None)


def test_bound(saved: Path, capsys: Capture, tmp_path: Path) -> None:
    machine = ["--bandwidth", "1kB/s", "--throughput", "1MFlop/s", "--latency", "1us"]
    assert main(["bound", str(saved), *machine, "--nodes", "4", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    # 5 flops: T_1 = 5 us, and 40 B at 1 kB/s are 40 ms
    assert [point["nodes"] for point in document["points"]] == [1, 4]
    assert document["points"][1]["latency_aware"]["binds"] == "bandwidth"
    assert document["machine"]["latency"]["value"] == pytest.approx(1e-6)
    target = tmp_path / "bound.json"
    assert main(["bound", str(saved), *machine, "--json", str(target)]) == 0
    assert f"wrote {target}" in capsys.readouterr().out.replace("\n", "")
    assert [point["nodes"] for point in json.loads(target.read_text())["points"]] == [1, 2, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--throughput", "1e9"], 1, "no bandwidth"),
        (["--bandwidth", "1GB/s", "--throughput", "1e9", "--nodes", "3"], 1, "--nodes 3"),
        (["--bandwidth", "1GB/s", "--throughput", "1e9", "--latency", "5"], 2, "unit"),
        (["--bandwidth", "1e9", "--throughput", "1e9"], 2, "bits per second"),
        (["--bandwidth", "1GB/s", "--throughput", "3.2"], 1, "3.2 Flop/s"),
        (["--bandwidth", "1GB/s", "--throughput", "1e9", "--efficiency", "1.5"], 2, "between 0 and 1"),
        (["--machine", "crey"], 1, "published machine"),
    ],
)
def test_bound_refused(saved: Path, capsys: Capture, arguments: list[str], code: int, text: str) -> None:
    assert main(["bound", str(saved), *arguments]) == code
    assert text in capsys.readouterr().err

"""Programs that end in unusual places, or go on elsewhere, are recorded whole, or what is lost is said."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import TraceError, UnsupportedIrError
from commanalyzer.graph.build import build_store
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.model import Module
from commanalyzer.recording.instrument.sites import SiteTable
from commanalyzer.recording.interpreter.run import interpret
from commanalyzer.recording.runtime import build_native
from commanalyzer.recording.trace import read_trace
from tests.recorded import instrumented

OFTEN, NOT_AT_ALL = -1, 0
# how often work() is recorded, each time with 63 flows; not at all: no recording, which an error says
CALLS = {
    **dict.fromkeys(("return", "exit", "_exit", "_Exit", "errx", "error", "pthread_exit"), 1),
    **dict.fromkeys(("quick_exit", "atexit", "on_exit", "exit in a handler", "_exit in a handler"), 2),
    **dict.fromkeys(("exit at abort", "jump at abort", "jump from a fault", "jump out of callees"), 2),
    **dict.fromkeys(("vfork", "fork", "fork, child aborts"), 2),
    **{"exit in atexit": 3, "alloca in a loop": 2, "exit from a full stack": OFTEN, "exit in a timer": OFTEN},
    **dict.fromkeys(("assert", "abort", "trap", "kill"), NOT_AT_ALL),
    **dict.fromkeys(("_exit through a pointer", "exec", "daemon", "exit_group"), NOT_AT_ALL),
}
INTERPRETED = {
    *("return", "exit", "_exit", "_Exit", "_exit through a pointer", "errx", "atexit", "exit in atexit"),
    *("assert", "abort", "trap", "alloca in a loop"),
}


@cache
def built() -> tuple[Path, Path, SiteTable, Module]:
    frontend = compile_sources([Path(__file__).parent / "endings.c"])
    module, plan, executable = instrumented(frontend)
    return build_native(frontend), executable, plan.sites, module


@pytest.mark.parametrize(
    "way",  # to fill a stack takes twice the time of all others
    [pytest.param(w, marks=pytest.mark.extended) if w == "exit from a full stack" else w for w in CALLS],
)
def test_a_program_ends_like_the_original(way: str, tmp_path: Path) -> None:
    native, executable, sites, module = built()
    plain, recorded = (
        subprocess.run([str(p), way], env=env, capture_output=True, check=False, timeout=120)
        for p, env in ((native, {}), (executable, {"COMMANALYZER_TRACE": str(tmp_path / "trace")}))
    )
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    if CALLS[way] == NOT_AT_ALL:
        with pytest.raises(TraceError, match="ended without its exit handlers"):
            read_trace(tmp_path / "trace")
    else:
        graph = build_store(read_trace(tmp_path / "trace"), sites).graph()
        number = {o.name: k for k, o in enumerate(graph.objects)}["u"]
        source = graph.rows.row_of_source()
        inside = graph.home_object[[graph.rows.row_sink[source], graph.rows.source]] == number
        flows = int(graph.rows.row_count[source][inside.all(axis=0)].sum())
        assert flows == 63 * CALLS[way] or (CALLS[way] == OFTEN and flows >= 63)
    if way not in INTERPRETED:
        with pytest.raises(UnsupportedIrError, match="run the program natively"):
            interpret(module, [way])
        return
    meant = interpret(module, [way])
    assert meant.stdout == plain.stdout
    assert meant.exit_status == (plain.returncode if plain.returncode >= 0 else 128 - plain.returncode)

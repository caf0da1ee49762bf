"""Recordings that are larger than the memory limit finish, with the same result."""

from dataclasses import replace
from pathlib import Path

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.recording.record import record
from commanalyzer.request import AnalysisRequest

# Elements are read through an index, so their stores are a row each: 5 x 10^5 per array.
_PROGRAM = """
enum { N = 500000 };
static double a[N], b[N], c[N];
static int next[N];
int main(void) {
    for (int i = 0; i < N; i++) next[i] = (int)((i * 7919L) % N), a[i] = i;
    for (int i = 0; i < N; i++) b[i] = a[next[i]] + a[i];
    for (int i = 0; i < N; i++) c[i] = b[next[i]] * a[next[i]] + b[i];
    return c[N / 2] > 0 ? 0 : 1;
}
"""


def test_a_recording_larger_than_its_limit(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(_PROGRAM)
    request = AnalysisRequest((source,), (), nodes=(4,), models=("volume",), program_output="discard")
    free = record(request, SilentProgress())
    limited = record(replace(request, memory_limit_bytes=48_000_000), SilentProgress())
    assert free.recording.spilled_bytes == 0
    assert limited.recording.spilled_bytes > 48_000_000
    assert limited.recording.dropped_events == free.recording.dropped_events == 0
    for name in ("num_flows", "num_rows", "num_vertices"):
        assert getattr(limited.store.graph(), name) == getattr(free.store.graph(), name), name
    assert limited.work == free.work

"""The command profile: transparency, files, errors; counts and misses beside those of valgrind."""

import re
import shutil
from pathlib import Path

import pytest

from commanalyzer.profiles.document import read_profile
from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.recording.runtime import build_native
from tests.e2e.command import commanalyzer, refuse, succeed
from tests.native import run
from tests.unit.profiles.run.test_measure import profile_of

# random accesses and scans over 1,000 lines, all of them volatile; the result is the exit status
WALK = """
#include <stdio.h>
static volatile char a[1000 * 64];
int main(void) {
  unsigned x = 1, s = 0;
  for (int i = 0; i < 200000; i++) {
    x = x * 1664525u + 1013904223u;
    s += a[(x >> 8) % 1000 * 64];
    a[i % 500 * 64] = 1;
  }
  printf("%u\\n", s != 0);
  return 7;
}
"""
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")


def _printed(folder: Path, *options: str) -> str:
    source = folder / "walk.c"
    source.write_text(WALK)
    native = build_native(compile_sources([source]))
    done = run("valgrind", *options, native, cwd=folder, timeout_s=300)
    assert done.status == 7, done.stderr
    return done.stderr


def _number(text: str, name: str) -> int:
    found = re.search(rf"{name}\s*:\s*([\d,]+)", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


def test_output_and_status_are_the_programs(tmp_path: Path) -> None:
    (tmp_path / "walk.c").write_text(WALK)
    options = ("--scale", "n=1000", "-q", "--allow-failure")
    done = succeed(tmp_path, "profile", "walk.c", "-o", "walk.pisa", *options)
    assert done.out.startswith("1\n")
    profile = read_profile(tmp_path / "walk.pisa")
    assert profile.application == "walk"
    assert profile.scale == {"n": 1000}
    rank = profile.ranks[0]
    assert rank.library_calls == {"printf": 1}
    assert rank.footprint.lines == 1000
    assert [entry.window for entry in rank.parallelism] == [54, 0]
    refuse(tmp_path, "profile", "walk.c", "-o", "walk.pisa", says="overwrite it with --force")


def test_what_belongs_to_another_run_is_refused(tmp_path: Path) -> None:
    source = WALK.replace("return 7", "return 0")
    (tmp_path / "walk.c").write_text(source)
    (tmp_path / "other.c").write_text(source.replace("1000 * 64", "1002 * 64"))
    succeed(tmp_path, "analyze", "walk.c", "--nodes", "2", "-o", "walk.cmz", "-q")
    speed = ("--profile", "w.pisa", "--processor", "p.toml", "--throughput", "1GFlop/s")
    for arguments, said in (
        (("profile", "walk.c", "--nodes", "4"), "expected --division with --nodes"),
        (("profile", "other.c", "--division", "walk.cmz", "--nodes", "2"), "walk"),
        (("profile", "walk.c", "--division", "walk.cmz", "--nodes", "2", "--", "3"), "walk"),
        (("bound", "walk.cmz", *speed), "both"),
    ):
        done = commanalyzer(tmp_path, *arguments)
        assert done.status == 1 and said in done.err and "found" in done.err, done.err


@needs_valgrind
def test_accesses_are_those_that_lackey_counts(tmp_path: Path) -> None:
    """Lackey also counts the start of the process and the library: some 10^5 instructions."""
    rank = profile_of(WALK, tmp_path)
    text = _printed(tmp_path, "--tool=lackey", "--basic-counts=no", "--trace-mem=no", "--detailed-counts=yes")
    row = re.search(r"I8\s+([\d,]+)\s+([\d,]+)", text)  # accesses of one byte: nearly all are the program's
    assert row is not None, text
    loads, stores = (int(cell.replace(",", "")) for cell in row.groups())
    assert loads == pytest.approx(rank.mix.group("F0load")[0, 2], rel=0.1)
    assert stores == pytest.approx(rank.mix.group("F0store")[0, 2], rel=0.02)


@needs_valgrind
@pytest.mark.parametrize("lines", [64, 256, 512])
def test_misses_are_those_that_cachegrind_simulates(tmp_path: Path, lines: int) -> None:
    """A fully associative LRU cache of so many lines misses what has a distance of at least as many."""
    rank = profile_of(WALK, tmp_path)
    reuse = rank.reuse(64)
    assert reuse is not None
    text = _printed(
        tmp_path, "--tool=cachegrind", "--cache-sim=yes", f"--D1={64 * lines},{lines},64",
        "--cachegrind-out-file=/dev/null",
    )  # fmt: skip
    hits = sum(c for d, c in zip(reuse.distance, reuse.count, strict=True) if d <= lines // 2)
    rest = reuse.at_most(lines) * reuse.accesses
    misses = _number(text, "D1  misses")
    # between two entries of the distribution the distance is not known
    assert reuse.accesses - max(rest, hits) <= misses * 1.05 + 2000
    assert misses <= (reuse.accesses - hits) * 1.05 + 2000  # the library's own misses

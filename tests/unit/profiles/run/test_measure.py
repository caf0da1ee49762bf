import random
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.foundation.errors import ProfileError
from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.profiles.metrics import metrics_of
from commanalyzer.profiles.run.measure import HISTORY, ProfileRequest, branches_of, profile_program
from commanalyzer.profiles.run.plan import plan_run
from commanalyzer.profiles.values import RankProfile, Reuse
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.request import AnalysisRequest

TIMES = 1000


def only_reuse(rank: RankProfile, line_bytes: int = 64) -> Reuse:
    found = rank.reuse(line_bytes)
    assert found is not None
    return found


def _reuse(rank: RankProfile, line_bytes: int = 64) -> dict[int, float]:
    found = only_reuse(rank, line_bytes)
    return {d: c for d, c in zip(found.distance.tolist(), found.count.tolist(), strict=True) if c}


def _walk(order: list[int]) -> str:
    """A program that reads lines of a static array in this order, each by an instruction of its own."""
    reads = "\n".join(f"  sink = a[{64 * line}];" for line in order)
    return f"""
_Alignas(128) static volatile char a[{64 * (max(order) + 2)}];
static volatile char *const sink_at = a;
int main(void) {{
  char sink;
{reads}
  (void)sink;
  return 0;
}}
"""


def _lru_distances(lines: list[int]) -> tuple[dict[int, int], int]:
    """Accesses by rounded-up reuse distance and first accesses, by searching a list."""
    stack: OrderedDict[int, None] = OrderedDict()
    counts: dict[int, int] = {}
    for line in lines:
        if line in stack:
            keys = list(stack)
            distance = len(keys) - 1 - keys.index(line)
            rounded = 0 if distance == 0 else 1 << (distance - 1).bit_length()
            counts[rounded] = counts.get(rounded, 0) + 1
            del stack[line]
        stack[line] = None
    return counts, len(stack)


def test_a_chain_has_no_parallelism(tmp_path: Path) -> None:
    """X = ((x * 3) / 5) ...: per iteration two dependent fp operations beside the counter."""
    source = loop(
        "%y = fmul double %x, 3.0\n  %z = fdiv double %y, 5.0\n  store volatile double %z, ptr @cell",
        TIMES,
        phis="%x = phi double [ 1.0, %entry ], [ %z, %loop ]",
    )
    rank = profile_of(source, tmp_path, suffix=".ll", windows=(0,))
    found = rank.parallelism[0].out_of_order
    assert found.span[4] == 2 * TIMES  # every fp operation waits for the one before
    assert found.mean[4] == 1.0
    # the chain of 2 n, and the store behind it; the return waits for nothing
    assert found.span[0] == 2 * TIMES + 1


def test_independent_work_is_as_parallel_as_it_is_wide(tmp_path: Path) -> None:
    """Eight operations on constants from memory that nobody writes: all start once it is loaded."""
    adds = "\n  ".join(f"%s{k} = fadd double %v, {k}.0" for k in range(8))
    source = loop(f"%v = load volatile double, ptr @cell\n  {adds}", TIMES)
    rank = profile_of(source, tmp_path, suffix=".ll", windows=(0,))
    assert rank.parallelism[0].out_of_order.span[1] == 1  # all loads in the first cycle


def test_windows_bound_parallelism(tmp_path: Path) -> None:
    """Loads without operands: w of them start per cycle, the other instructions share the window."""
    loads = "\n".join("  x = a[0];" for _ in range(960))
    source = f"static volatile char a[64]; int main(void) {{ char x;\n{loads}\n (void)x; return 0; }}"
    rank = profile_of(source, tmp_path, windows=(1, 8, 64, 0))
    means = [entry.out_of_order.mean[0] for entry in rank.parallelism]
    assert means[0] == pytest.approx(1.0, abs=1e-3)
    assert means[1] == pytest.approx(8.0, rel=0.01)
    assert means[2] == pytest.approx(64.0, rel=0.07)  # 961 instructions in 16 cycles of 64
    assert means[3] == rank.mix.instructions  # everything at once


def test_stores_are_waited_for(tmp_path: Path) -> None:
    """Cell += 1: load, add and store depend on each other through memory: three cycles per round."""
    body = "%v = load volatile i64, ptr @cell\n  %w = add i64 %v, 1\n  store volatile i64 %w, ptr @cell"
    rank = profile_of(loop(body, TIMES), tmp_path, suffix=".ll", windows=(0,))
    assert rank.parallelism[0].out_of_order.span[0] == 3 * TIMES
    assert rank.parallelism[0].in_order.span[0] >= 3 * TIMES


@pytest.mark.parametrize("lines", [10, 600])
def test_reuse_of_a_random_walk(tmp_path: Path, lines: int) -> None:
    chosen = random.Random(lines)
    order = [chosen.randrange(lines) for _ in range(900)]
    for is_exact in (True, False):  # so few lines are all in the sample
        rank = profile_of(_walk(order), tmp_path, is_exact=is_exact)
        counts, first = _lru_distances(order)
        assert _reuse(rank) == counts
        assert rank.footprint.lines == first
        assert _reuse(rank, 128) == _lru_distances([line // 2 for line in order])[0]


def test_sampled_distances_keep_their_stated_error(tmp_path: Path) -> None:
    """Random accesses to 60,000 lines and scans: the curve, within four standard errors."""
    source = """
static char a[60000 * 64];
int main(void) {
  unsigned x = 1; volatile char *p = a;
  for (int i = 0; i < 400000; i++) { x = x * 1664525u + 1013904223u; p[(x >> 8) % 60000 * 64]; p[i % 4096]; }
  return 0;
}"""
    exact, sampled = (only_reuse(profile_of(source, tmp_path, is_exact=e)) for e in (True, False))
    assert exact.error == 0.0
    assert 0.0 < sampled.error < 0.05
    assert sampled.accesses == exact.accesses
    for lines in (1 << 10, 1 << 14, 1 << 15, 1 << 16, 1 << 18):
        assert abs(sampled.at_most(lines) - exact.at_most(lines)) < 4 * sampled.error


@pytest.mark.parametrize(
    "body",
    [
        # First one line again and again, then four in turn: a run that is a few buffers long has both parts.
        "for (int i = 0; i < 100000; i++) p[0];"
        "for (int i = 0; i < 30000; i++) for (int k = 0; k < 12; k++) p[(i + k % 4) % 30000 * 64];",
        # A long run of two parts with few copies, each of more lines than a buffer has other accesses.
        "for (int i = 0; i < 8000000; i++) {"
        "  p[i / (i < 4000000 ? 8 : 6) % 60000 * 64]; if (i % 400000 == 0) memcpy(a, b, sizeof a); }",
    ],
)
def test_short_distances_are_those_of_the_whole_run(tmp_path: Path, body: str) -> None:
    source = f"""
#include <string.h>
static char a[60000 * 64], b[60000 * 64];
int main(void) {{ volatile char *p = a; {body} return 0; }}"""
    exact, sampled = (only_reuse(profile_of(source, tmp_path, is_exact=e)) for e in (True, False))
    assert 0.0 < sampled.error < 0.01
    for lines in (1, 4, 1 << 9, 1 << 14):
        assert abs(sampled.at_most(lines) - exact.at_most(lines)) < 4 * sampled.error


@pytest.mark.parametrize("stores", [30, 100, 500])
def test_instruction_reuse_of_a_long_loop(tmp_path: Path, stores: int) -> None:
    """One jump, then rounds of stores, phi, add, icmp and branch: each round has every line once more."""
    body = "\n  ".join(["store volatile i64 %i, ptr @cell"] * stores)
    rank = profile_of(loop(body, TIMES), tmp_path, suffix=".ll")
    found = rank.instruction_reuse[0]
    assert (found.accesses, found.instruction_bytes) == (rank.mix.instructions, 4)
    lines = -(-4 * (1 + stores + 4) // 64)
    counts = dict(zip(found.distance.tolist(), found.count.tolist(), strict=True))
    assert counts[1 << (lines - 2).bit_length()] == lines * (TIMES - 1)
    assert counts[0] == pytest.approx(found.accesses - lines * TIMES, abs=2)  # and the return


def test_mix_and_registers(tmp_path: Path) -> None:
    """Per round: phi, load, fmul, store, add, icmp, branch."""
    body = (
        "%v = load volatile double, ptr @cell\n  %w = fmul double %v, 2.0\n"
        "  store volatile double %w, ptr @cell"
    )
    rank = profile_of(loop(body, TIMES), tmp_path, suffix=".ll")
    found = metrics_of(rank, 1)
    assert found.scalars["LSys"] == rank.mix.instructions
    counts = {name: rank.mix.group(name).sum() for name in found.mixes}
    assert counts["F0load"] == counts["F0store"] == counts["F0fpmul"] == counts["F0fp"] == TIMES
    assert counts["F0int"] == 2 * TIMES  # the counter and its comparison
    assert counts["F0other"] == TIMES  # the phi
    assert TIMES <= counts["F0control"] <= TIMES + 2  # the loop's, a jump into it and the return
    # phi 1, load 0 (its address is constant), fmul 1, store 1, add 1, icmp 1, branch 1
    assert rank.register_reads == 6 * TIMES
    # all five that name a register are read
    assert rank.register_writes == 5 * TIMES


def test_vectors_have_their_length(tmp_path: Path) -> None:
    body = "%v = load volatile <4 x float>, ptr @cell\n  store volatile <4 x float> %v, ptr @cell"
    rank = profile_of(loop(body, TIMES), tmp_path, suffix=".ll")
    assert rank.mix.group("F0load")[2, 4] == TIMES  # four elements of 32 bits
    assert rank.footprint.data_bytes == 16


@pytest.mark.parametrize(
    ("outcomes", "history", "entropy", "misprediction"),
    [
        ([1] * 64, 0, 0.0, 0.0),
        ([0, 1] * 64, 0, 1.0, 0.5),
        ([0, 1] * 64, 1, 0.0, 0.0),
        ([0, 0, 0, 1] * 64, 0, 0.8112781244591328, 0.25),  # H(1/4)
        ([0, 0, 0, 1] * 64, 3, 0.0, 0.0),
    ],
)
def test_branches_of_known_patterns(
    outcomes: list[int], history: int, entropy: float, misprediction: float
) -> None:
    counts = np.zeros(1 << (HISTORY + 1), np.int64)
    for end in range(HISTORY + 1, len(outcomes) + 1):
        counts[int("".join(map(str, outcomes[end - HISTORY - 1 : end])), 2)] += 1
    found = branches_of(len(outcomes), np.array(outcomes[:HISTORY]), counts)
    assert found.entropy[history] == pytest.approx(entropy, abs=1e-12)
    assert found.misprediction[history] == misprediction


def test_branches_of_a_program(tmp_path: Path) -> None:
    """Every other element is taken: with one outcome known besides the loop's, nothing is left to tell."""
    source = """
static volatile int a[2];
int main(void) { for (int i = 0; i < 4096; i++) { if (i & 1) a[0] = i; else a[1] = i; } return 0; }"""
    rank = profile_of(source, tmp_path)
    assert rank.branches is not None
    assert rank.branches.executed in (4096, 2 * 4096)  # a machine may choose the address without a branch
    assert rank.branches.entropy[-1] < 0.01
    assert rank.branches.misprediction[-1] < 0.001


def test_library_calls_and_copies(tmp_path: Path) -> None:
    source = """
#include <stdio.h>
#include <string.h>
static char a[1000] = "x", b[1000];
char from[1 << 17], to[1 << 17]; /* their size does not fit above an address */
int main(int argc, char **argv) {
  for (int i = 0; i < 7; i++) puts("x");
  a[argc] = 'y';
  memcpy(b, a, 900 + argc);
  memcpy(to, from, sizeof to);
  return b[900];
}"""
    rank = profile_of(source, tmp_path)
    assert rank.library_calls == {"puts": 7, "memcpy": 2}
    assert rank.footprint.data_bytes == 2 * (901 + (1 << 17))


def test_windows_are_checked() -> None:
    for windows, message in (((54, 54), "different windows"), ((-1,), "from 0 to")):
        with pytest.raises(ProfileError, match=message):
            ProfileRequest(AnalysisRequest((Path("x.c"),)), windows=windows)


def test_programs_that_leave_without_an_end_are_refused(tmp_path: Path) -> None:
    source = "#include <unistd.h>\nint main(void) { _exit(0); }"
    with pytest.raises(ProfileError, match="no results of its profile run"):
        profile_of(source, tmp_path)


def test_split_edges_are_no_code() -> None:
    source = """
define i32 @main(i1 %c) {
entry:
  br i1 %c, label %edge, label %other
edge:
  br label %end
other:
  br label %end2
end2:
  br label %end
end:
  %r = phi i32 [ 0, %edge ], [ 1, %end2 ]
  ret i32 %r
}
"""
    labels = [s.label for s in plan_run(parse_module(source)).segments]
    assert labels[0] == "entry"
    assert labels[-1] == "end"
    assert len(labels) > 2  # one way must show which way was taken


def test_hits_of_a_cache_from_distances() -> None:
    reuse = Reuse(64, np.array([0, 1, 2, 4]), np.array([10.0, 20, 30, 40]), 100)
    assert [reuse.at_most(lines) for lines in (0, 1, 2, 3, 5, 100)] == pytest.approx([0, 0.1, 0.3, 0.6, 1, 1])


def profile_of(
    source: str,
    folder: Path,
    *arguments: str,
    suffix: str = ".c",
    is_exact: bool = True,
    windows: tuple[int, ...] = (),
) -> RankProfile:
    """Profile of a program."""
    path = folder / f"program{suffix}"
    path.write_text(source)
    program = AnalysisRequest((path,), arguments, program_output="discard", allow_failure=True)
    request = ProfileRequest(program, is_exact=is_exact, windows=windows)
    return profile_program(request, SilentProgress()).profile.ranks[0]


def loop(body: str, times: int, phis: str = "", before: str = "") -> str:
    """A program whose ``main`` executes ``body`` so many times, with ``%i`` from 0."""
    return f"""
@cell = global [65536 x i8] zeroinitializer, align 128
define i32 @main() {{
entry:
  {before}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {phis}
  {body}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {times}
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}
"""

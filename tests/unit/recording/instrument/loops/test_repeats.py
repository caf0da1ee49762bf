"""Which loops are run without hooks when their effect is known, and how the instrumented text says so."""

import re
from pathlib import Path

import pytest

from commanalyzer.program.frontend.compile import compile_sources
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.inspectors.previews import _Registers
from commanalyzer.recording.instrument.loops.repeats import loops_text
from commanalyzer.recording.instrument.plan import ModulePlan, PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import rewrite

_SOURCE = """
#include <string.h>
#define F(name, ...) __attribute__((noinline)) void name(__VA_ARGS__)
extern int output;
F(stencil, int n, const double *a, double *b) { for (int i = 1; i < n; i++) b[i] = a[i - 1] + a[i + 1]; }
F(copy, int n, const double *a, double *b) { for (int i = 0; i < n; i++) b[2 * i] = a[i]; }
F(plane, int n, int m, const double *a, double *b)
{ for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) b[i * m + j] = 0.5 * a[i * m + j]; }
F(square, int n, const double *a, double *b)
{ for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) b[(long)i * n + j] = 0.5 * a[(long)j * n + i]; }
F(rows, int n, int m, const double *a, double *b)
{ for (int i = 0; i < n; i++) memcpy(b + 2L * i * m, a + (long)i * m, sizeof(double) * (size_t)m); }
F(sum, int n, const double *a, double *b) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; *b = s; }
F(until_end, int n, const double *a, double *b)
{ long i = 0; while (i < n) { b[i] = a[i] + 1; i += 2; } b[i] = 2; }
F(product, int n, const double *a, const double *b, double *c)
{ for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)
  { double s = 0; for (int k = 0; k < n; k++) s += a[(long)i * n + k] * b[(long)k * n + j];
    c[(long)i * n + j] = s; } }
F(carried, int n, const double *a, double *b)
{ double s = 0;
  for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) s += a[(long)i * n + j]; b[i] = s; } }
F(triangle, int n, const double *a, double *b)
{ for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) b[i * n + j] = a[j] * 2; }
F(sparse, int n, const int *first, const int *col, const double *a, double *b)
{ for (int i = 0; i < n; i++)
  { double s = 0; for (int k = first[i]; k < first[i + 1]; k++) s += a[col[k]]; b[i] = s; } }
F(some, int n, const int *k, const double *a, double *b)
{ double s = 0; for (int i = 0; i < n; i++) if (k[i] != 0) s += a[i]; *b = s; }
F(going_on, int n, const int *k, const double *a, double *b)
{ double s = 0;
  for (int t = 0; t < 9; t++) for (int i = 0; i < n; i++) if (k[i] != t) s += a[i];
  *b = s; }
F(even, int n, const double *a, double *b) { for (int i = 0; i < n; i++) if (i % 3 == 0) b[i] = a[i] + 1; }
F(positive, int n, const double *a, double *b) { for (int i = 0; i < n; i++) if (a[i] > 0) b[i] = a[i] + 1; }
F(in_place, int n, double *a) { for (int i = 0; i < n; i++) if (a[i] > 0) a[i] = 0.5 * a[i]; }
F(chain, int n, double *a) { for (int i = 1; i < n; i++) if (a[i - 1] > 0) a[i] = 0.5 * a[i - 1]; }
F(gathered, int n, const int *k, const double *a, double *b)
{ for (int i = 0; i < n; i++)
  { double s[16]; memset(s, 0, sizeof s); for (int j = 0; j < 40; j++) s[j % 16] += a[k[40 * i + j]];
    b[i] = s[k[i] & 15]; } }
F(until, int n, const double *a, double *b)
{ for (int i = 0; i < n; i++) { if (a[i] > 9) break; b[i] = a[i] + 1; } }
F(cell, int n, const double *a, double *b) { for (int i = 0; i < n; i++) b[(int)a[i]] += 1.5; }
F(rewritten, int n, int *index, double *b)
{ for (int i = 0; i < n; i++) { index[i * 7L % n] = i; b[index[i]] += 1; } }
F(corners, int n, const double *a, double *b)
{ for (int i = 0; i < n; i++)
  { int at[4]; int c = (int)a[i]; at[0] = c; at[1] = c + 1; at[2] = c + n; at[3] = c + n + 1;
    for (int j = 0; j < 4; j++) b[at[j]] += 0.5; } }
F(partly, int n, const double *a, double *b)
{ int at[4] = {0, 1, 2, 3};
  for (int i = 0; i < n; i++)
  { int c = (int)a[i]; if (c > 2) at[c & 3] = c; for (int j = 0; j < 4; j++) b[at[j]] += 0.5; } }
F(sink, double *b) { *b += 1; }
F(called, int n, double *b) { for (int i = 0; i < n; i++) sink(b + i); }
F(three, int n, double *b) { for (int i = 0; i < 3; i++) b[n * i] += 1; }
F(observed, int n, volatile double *b) { for (int i = 0; i < n; i++) b[i] = b[i] + 1; }
int main(void) { return 0; }
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModulePlan, str]:
    source: Path = tmp_path_factory.mktemp("loops") / "loops.c"
    source.write_text(_SOURCE)
    module = parse_module(compile_sources([source]).ir_text)
    plan = plan_module(module, PlanOptions())
    return plan, rewrite(module, plan)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("stencil", ["known"]),
        ("copy", ["known"]),
        ("plane", ["known", "known"]),  # unless there are no columns; row by row
        ("square", ["known", "known"]),  # as a nest and row by row
        ("rows", ["known"]),
        ("sum", []),  # it goes on behind the loop
        ("triangle", ["previewed", "known"]),
        ("sparse", ["previewed"]),
        ("even", ["previewed"]),
        ("some", []),  # which terms a sum gets depends on data
        ("positive", ["previewed"]),  # decided by values that are apart from what is stored
        ("in_place", ["previewed"]),  # read before they are stored
        ("chain", []),  # what is stored decides
        ("gathered", ["previewed"]),  # with local arrays
        ("until", []),
        ("cell", ["previewed"]),
        ("corners", []),  # its addresses come from an array that it fills
        ("partly", []),  # a round may find what another one left there
        ("rewritten", []),  # stores may change what addresses come from
        ("called", []),
        ("observed", []),
        ("three", []),  # a guard would cost more
    ],
)
def test_loops_with_a_copy(planned: tuple[ModulePlan, str], function: str, expected: list[str]) -> None:
    loops = planned[0].patches[f"@{function}"].repeated
    assert ["previewed" if loop.preview else "known" for loop in loops] == expected


_OBSTACLES = """\
#include <stdlib.h>
#include <string.h>
double f(int n, int *k, double *b, double **rows)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        b[i] += 1;
    for (int i = 0; i < n; i++) {
        if (b[i] > 9)
            break;
        b[i] = 2;
    }
    for (int i = 0; i < n; i++)
        rows[i] =
            malloc(8);
    for (int i = 0; i < n; i++) {
        k[i * 7L % n] = i;
        b[k[i]] += 1;
    }
    for (int i = 0; i < n; i++)
        memset(b + 9 * i, 0,
               8 * (size_t)k[i]);
    for (int i = 0; i < n; i++)
        if (k[i])
            s += b[i];
    for (int i = 0; i < 3; i++)
        b[n * i] += 1;
    for (int i = 0; k[i] != 0; i++)
        b[k[i]] = s;
    return s;
}
int main(void) { return 0; }
"""


def test_reasons_name_the_lines_of_obstacles(tmp_path: Path) -> None:
    source = tmp_path / "obstacles.c"
    source.write_text(_OBSTACLES)
    module = parse_module(compile_sources([source]).ir_text)
    lines = loops_text(module, plan_module(module, PlanOptions()).patches).splitlines()
    where = lines[1].split(":")[0]  # as the debug information names it
    assert str(source).endswith(where)
    again = "arrays decide addresses, rounds or branches: again when they change"
    unsized = "how many bytes it copies or sets is only known when it runs"
    own = "what it reads to find an address or a branch may come from its own store"
    assert [re.split(" {2,}", line) for line in lines] == [
        ["loop", "function", "when it repeats", "because"],
        [f"{where}:6", "f", "known"],
        [f"{where}:8", "f", "hooks", "can end in 2 places (line 9, line 8)"],
        [f"{where}:13", "f", "hooks", "calls malloc (line 15)"],
        [f"{where}:16", "f", "hooks", f"{own} (line 18, line 17)"],
        [f"{where}:20", "f", "hooks", f"{unsized} (line 21)"],
        [f"{where}:23", "f", "hooks", "a sum begins before it or goes on after it (line 25)"],
        [f"{where}:26", "f", "hooks", "never makes 8 rounds: looking ahead would cost more"],
        [f"{where}:28", "f", "previewed", again],
    ]


_KEPT = """
#include <sys/mman.h>
int output;
void f(int n, const int *k, double *b) { for (int i = 0; i < n; i++) b[k[i]] = 1.5 * i; }
void g(int n, const double *a, double *b) { for (int i = 0; i < n; i++) if (a[i] > 0) b[i] = a[i]; }
int main(void) { return USE; }
"""


@pytest.mark.parametrize(
    ("use", "expected"), [("0", [True, False]), ("mprotect(&output, 1, 0)", [False] * 2)]
)
def test_what_previews_read_is_kept(tmp_path: Path, use: str, expected: list[bool]) -> None:
    """Not computed numbers; not in programs that forbid reading their memory."""
    source = tmp_path / "kept.c"
    source.write_text(_KEPT.replace("USE", use))
    plan = plan_module(parse_module(compile_sources([source]).ir_text), PlanOptions())
    loops = [plan.patches[name].repeated[0] for name in ("@f", "@g")]
    assert [any("@ca_preview_same(" in line for line in loop.preview) for loop in loops] == expected


def test_exits_join_both_ways(planned: tuple[ModulePlan, str]) -> None:
    text = planned[1]
    body = text[text.index("define void @until_end(") :]
    body = body[: body.index("\n}")]
    phi = next(line for line in body.splitlines() if ".lcssa = phi i64" in line and ".ca.0" in line)
    assert re.search(r"\[ %(\S+), %\S+\.ca\.0\.exit \], \[ %\1\.ca\.0, %\S+\.ca\.0 \]", phi)


@pytest.mark.parametrize(
    ("function", "is_offered"),
    [("stencil", True), ("product", True), ("carried", False), ("sum", False), ("copy", False)],
)
def test_loops_met_first_are_offered(
    planned: tuple[ModulePlan, str], function: str, is_offered: bool
) -> None:
    offers = "".join("".join(loop.offer) for loop in planned[0].patches[f"@{function}"].repeated)
    assert ("@ca_family(" in offers) == is_offered


def test_conditions_keep_the_order_of_the_program() -> None:
    """The order of a set differs from process to process: the text would, too, and be compiled again."""
    registers = _Registers()
    names = [f"%condition{i}" for i in range(64)]
    for name in (*names, *names[::-1]):
        assert registers.decides(name)
    assert list(registers.conditions) == names

"""Which previews begin their rounds with a probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from commanalyzer.frontend.compile import compile_sources
from commanalyzer.instrument.code import RepeatedLoop
from commanalyzer.instrument.plan import PlanOptions, plan_module
from commanalyzer.ir.parsing.parser import parse_module

_SOURCE = """
void f(int n, const int *k, const double *x, double *b) { LOOP }
int main(void) { return 0; }
"""


def _loops(tmp_path: Path, loop: str) -> list[RepeatedLoop]:
    source = tmp_path / "loop.c"
    source.write_text(_SOURCE.replace("LOOP", loop))
    return plan_module(parse_module(compile_sources([source]).ir_text), PlanOptions()).patches["@f"].repeated


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; i++) b[(int)x[i]] += 1.5;",
        "for (int i = 0; i < n; i++) if (x[i] > 0.5) b[i] += 1.5;",
        # what else is loaded and decides follows from that, through a local array
        "for (int i = 0; i < n; i++) { int p[3]; int c = (int)x[i]; p[0] = c; p[1] = c + 1; p[2] = c * n;"
        " for (int j = 0; j < 3; j++) b[p[j]] += x[i]; }",
        "for (int i = 0; i < n; i++) { int c = (int)x[i]; for (int j = 0; j < c; j++) b[c * n + j] += 1.5; }",
    ],
)
def test_rounds_decided_at_once_begin_with_a_probe(tmp_path: Path, loop: str) -> None:
    outer = max(_loops(tmp_path, loop), key=lambda found: len(found.blocks))
    text = "\n".join(outer.preview)
    assert text.count("@ca_round_known(") == 1
    assert "fptosi" not in text or text.index("fptosi") < text.index("@ca_round_known(")


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; i++) if (x[i] > 0.5) b[(int)x[i + n]] += 1.5;",  # at times
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) b[(int)x[i * n + j]] += 1.5;",  # many
        "for (int i = 0; i < n; i++) b[k[i]] += 1.5;",  # whose preview need not be made again
    ],
)
def test_other_rounds_are_looked_at_as_a_whole(tmp_path: Path, loop: str) -> None:
    outer = max(_loops(tmp_path, loop), key=lambda found: len(found.blocks))
    assert outer.apart
    assert "@ca_round_known(" not in "\n".join(outer.preview)

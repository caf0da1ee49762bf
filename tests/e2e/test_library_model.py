"""Rows of the library model that the user adds."""

import subprocess
from pathlib import Path

import pytest

import commanalyzer as ca
from commanalyzer.program.frontend.toolchain import bundled_toolchain
from commanalyzer.program.ir.libcalls import library_with
from tests.e2e.analysed import analyse_text
from tests.e2e.library_programs import element, into_out
from tests.recorded import record_source
from tests.reference.flows import native_chains

UNKNOWN = """
#include <stdio.h>
#include <string.h>
double in[6], out[6];
/* what other code of the process offers; found at run time, so that no body is analysed */
extern char *l64a(long);
extern long a64l(const char *);
int main(void) {
    for (int i = 0; i < 6; i++) in[i] = i + 1;
    out[0] = a64l("zz") * in[1];
    printf("%g\\n", out[0]);
}
"""


def test_unknown_functions_are_counted_and_named() -> None:
    recorded = record_source(UNKNOWN)
    assert recorded.plan.sites.externals == ["a64l"]
    assert into_out(recorded) == [element(1)]


def test_rows_of_the_user_are_followed(tmp_path: Path) -> None:
    rows = tmp_path / "rows.toml"
    rows.write_text("""
[functions]
a64l = { effect = "pure", reads = ["#0: 4"], width = 4 }
""")
    recorded = record_source(UNKNOWN.replace('"zz"', "(char *)(in + 2)"), library_models=(rows,))
    assert recorded.plan.sites.externals == []
    assert into_out(recorded) == [element(1, 2)]
    oracle = library_with(rows).call("a64l")
    assert oracle is not None
    assert oracle.reads_memory


BLAS = """
double ddot(int n, const double *x, const double *y) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
void daxpy(int n, double alpha, const double *x, double *y) {
    for (int i = 0; i < n; i++) y[i] += alpha * x[i];
}
void arrange(double *v, long n, int (*compare)(const double *, const double *)) {
    for (long i = 1; i < n; i++)
        for (long k = i; k > 0 && compare(v + k - 1, v + k) > 0; k--) {
            double t = v[k];
            v[k] = v[k - 1];
            v[k - 1] = t;
        }
}
"""
BLAS_ROWS = """
[functions]
ddot = { effect = "pure", flops = 4, reads = ["#1: 8*#0", "#2: 8*#0"], values = [] }
daxpy = { effect = "pure", reads = ["#2: 8*#0"], writes = ["#3: 8*#0"], values = [1] }
arrange = { effect = "permute", pointer = "#0", bytes = "8*#1", element = "8", calls = [2] }
"""
BLAS_USER = """
#include <stdio.h>
double in[6], out[6], alpha;
double ddot(int, const double *, const double *);
void daxpy(int, double, const double *, double *);
void arrange(double *, long, int (*)(const double *, const double *));
static int falling(const double *a, const double *b) { return (*a < *b) - (*a > *b); }
int main(int argc, char **argv) {
    for (int i = 0; i < 6; i++) in[i] = i + argc;
    alpha = in[5];
    out[0] = ddot(2, in, in + 3);
    arrange(in, 3, falling);
    out[1] = in[0] * 2;
    daxpy(2, in[5], in + 3, out + 2);
    out[4] = out[2] * 3;
    printf("%g %g %g\\n", out[0], out[1], out[4]);
}
"""


def test_precompiled_code_of_the_user_is_followed(tmp_path: Path) -> None:
    library, rows = tmp_path / "blas.c", tmp_path / "blas.toml"
    library.write_text(BLAS)
    rows.write_text(BLAS_ROWS)
    compiler, compiled = bundled_toolchain(), tmp_path / "blas.o"
    command = [*compiler.cc, *compiler.target_flags, "-fno-sanitize=all", "-c", str(library)]
    subprocess.run([*command, "-o", str(compiled)], check=True)
    result = analyse_text(BLAS_USER, nodes=2, ldflags=[str(compiled)], library_models=rows)
    flows: dict[str, list[set[str]]] = {}
    for chain in native_chains(result.graph):
        flows.setdefault(str(chain.sink), []).append({str(home) for home, _ in chain.sources})
    assert result.recording.unmodelled_calls == ()
    assert flows["@out+0"] == [element(0, 1, 3, 4)]
    assert flows["@out+8"] == [element(2)]
    assert flows["@out+16"] == flows["@out+24"] == [element(3, 4, 5)]  # which one of them, no row says
    assert flows["@out+32"] == [{"@out+16"}]
    assert result.work.flops == 4 + 1 + 1  # ddot's row and two products here; the conversions are none


def test_the_library_model_is_part_of_the_result(tmp_path: Path) -> None:
    source, rows = tmp_path / "program.c", tmp_path / "rows.toml"
    source.write_text(UNKNOWN)
    rows.write_text('[functions]\na64l = { effect = "pure", flops = 100 }\n')
    plain = ca.analyze(source, nodes=2, program_output="discard")
    modelled = ca.analyze(source, nodes=2, program_output="discard", library_models=rows)
    assert plain.recording.unmodelled_calls == (("a64l", 1),)
    assert modelled.recording.unmodelled_calls == ()
    assert modelled.work.flops == plain.work.flops + 100
    assert [path for path, _ in modelled.provenance.input_hashes] == [str(source), str(rows)]


def test_a_wrong_row_is_reported_before_the_program_runs(tmp_path: Path) -> None:
    source, rows = tmp_path / "program.c", tmp_path / "rows.toml"
    source.write_text(UNKNOWN)
    rows.write_text('[functions]\na64l = { effect = "pur" }\n')
    with pytest.raises(ca.CommAnalyzerError, match=r"rows\.toml, 'a64l': expected an effect"):
        ca.analyze(source, nodes=2, library_models=[rows])

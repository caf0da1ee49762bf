"""Values on their way through the C++ library, and rows that the user adds."""

from __future__ import annotations

from pathlib import Path

import pytest

import commanalyzer as ca
from commanalyzer.ir.library_files import library_with
from tests.e2e.library_programs import SORTED, element, into_all, into_out, record
from tests.recorded import Recorded, record_source

# ---- C++ ---------------------------------------------------------------------------------------------------

CXX_HEADER = """
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
double in[6], out[6];
static void start() { for (int i = 0; i < 6; i++) in[i] = i * 5 % 6 + 0.5; }
"""


def record_cxx(text: str) -> Recorded:
    """Record a C++ program."""
    return record(CXX_HEADER + text, suffix=".cpp", is_interpreted=False)


def test_precompiled_std_sort_moves_values() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::vector<float> v;
    for (int i = 0; i < 3; i++) v.push_back(float(in[i]) * 2);
    std::sort(in, in + 6);
    std::sort(v.begin(), v.end());
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    std::printf("%g %g\\n", out[0], v[2]);
}
""")
    assert into_out(recorded) == [element(k) for k in SORTED]


def test_sort_with_a_comparison_of_the_program() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::sort(in, in + 6, [](double a, double b) { return a > b; });
    for (int i = 0; i < 6; i++) out[i] = in[i] * 2;
    std::printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(k) for k in reversed(SORTED)]


def test_algorithms_with_library_functions() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::transform(in, in + 6, out, static_cast<double (*)(double)>(std::sqrt));
    std::printf("%g\\n", out[0]);
}
""")
    assert into_out(recorded) == [element(k) for k in range(6)]


def test_streams_read_and_write() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::istringstream text("2.5 7");
    double x = in[0];
    int n;
    text >> x >> n;
    out[0] = x * n;
    std::cout << out[0] << ' ' << in[1] << std::endl;
}
""")
    flows = into_all(recorded)
    x, n = sorted(flows["@out+0"])
    assert x.startswith("@main/") and n.startswith("@main/")
    assert (flows[x], flows[n]) == (set(), set())


def test_numbers_through_strings() -> None:
    recorded = record_cxx("""
int main() {
    start();
    std::string text = std::to_string(in[2]);
    out[0] = std::stod(text) * 2;
    std::vector<std::string> words{"b", "a", "a word that is longer than a short string"};
    std::sort(words.begin(), words.end());
    out[1] = std::stoi("12") * 2;
    std::cout << words[0] << words[2] << text << out[0] << out[1] << std::endl;
}
""")
    assert into_out(recorded) == [element(2), set()]


# ---- what the user adds ------------------------------------------------------------------------------------

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

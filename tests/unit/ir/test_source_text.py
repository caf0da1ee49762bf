"""Heap arrays of library containers bear the user's names."""

from __future__ import annotations

from pathlib import Path

import commanalyzer as ca
from commanalyzer.vcg.graph import HomeKind

SOURCE = """\
#include <cstdio>
#include <vector>
struct Domain {
    std::vector<double> pressure, energy;
    explicit Domain(int n) : pressure(n), energy(n) {}
};
int main(int argc, char **)
{
    Domain domain(100 * argc);
    std::vector<double> local(100 * argc);
    for (int i = 0; i < 100; i++) {
        domain.pressure[i] = i * 0.5;
        domain.energy[i] = domain.pressure[i] * 2.0;
        local[i] = domain.energy[i] + domain.pressure[99 - i];
    }
    double sum = 0.0;
    for (double value : local)
        sum += value;
    std::printf("%g\\n", sum);
}
"""


def test_vectors_are_named_by_member_and_variable_and_placed_in_the_users_source(tmp_path: Path) -> None:
    path = tmp_path / "domain.cpp"
    path.write_text(SOURCE)
    result = ca.analyze(path, nodes=[2], program_output="discard")
    heap = {o.name: o.line for o in result.graph.objects if o.kind is HomeKind.HEAP and o.size_bytes >= 800}
    assert heap == {"domain.pressure": 9, "domain.energy": 9, "local": 10}

"""Heap arrays of library containers bear the user's names."""

from pathlib import Path

import commanalyzer as ca
from commanalyzer.graph.value_graph import HomeKind
from commanalyzer.program.ir.names.debug_info import DebugInfo
from commanalyzer.program.ir.names.source_text import allocated_name
from commanalyzer.program.ir.parsing.parser import parse_module

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
    assert heap == {"domain.pressure": 5, "domain.energy": 5, "local": 10}


FORTRAN = """\
subroutine setup(n)
  Allocate( u(n, n), grid%p(size(v)), & ! comment
            fields(k)%q(0:n+1), stat = status)
  w = u(:, 1)
end subroutine
"""


def test_fortran_statements_name_what_they_allocate(tmp_path: Path) -> None:
    path = tmp_path / "setup.f90"
    path.write_text(FORTRAN)
    metadata = f"""
!1 = !DIFile(filename: "setup.f90", directory: "{tmp_path}")
!2 = distinct !DISubprogram(name: "setup", file: !1, line: 1)
!3 = !DILocation(line: 2, column: 3, scope: !2)
!4 = !DILocation(line: 4, column: 3, scope: !2)
"""
    debug = DebugInfo(parse_module(metadata))
    found = [allocated_name(debug, 3, number) for number in range(4)]
    assert [name and name[0] for name in found] == ["u", "grid%p", "fields%q", None]
    assert allocated_name(debug, 4, 0) is None  # a temporary of the right-hand side

"""Statements name what they allocate."""

from pathlib import Path

from commanalyzer.program.ir.names.debug_info import DebugInfo
from commanalyzer.program.ir.names.source_text import allocated_name
from commanalyzer.program.ir.parsing.parser import parse_module

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

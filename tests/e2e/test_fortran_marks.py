"""Marks of regions in Fortran sources."""

from pathlib import Path

from tests.e2e.analysed import flang
from tests.recorded import record_file

flang()
MARKED = """
program heat
  implicit none
  real(8) :: u(64), v(64)
  integer :: i, step
  do i = 1, 64
    u(i) = i * 0.5d0
  end do
  v = 0
  do step = 1, 3
    u(1) = u(1) * 1.5d0
#ifdef __COMMANALYZER__
    call commanalyzer_begin_sweep()
#endif
    do i = 2, 63
      v(i) = u(i - 1) + u(i + 1)
    end do
#ifdef __COMMANALYZER__
    call commanalyzer_end_sweep()
#endif
    u(2:63) = v(2:63) * 0.25d0
  end do
  print '(f12.6)', u(32)
end program
"""


def test_marks_of_a_fortran_source_are_a_region(tmp_path: Path) -> None:
    source = tmp_path / "heat.F90"
    source.write_text(MARKED)
    marked = record_file(source, regions=("sweep",))
    assert marked.work.flops == 3 * 62
    entering = 2 * 63  # what changes between executions
    assert marked.graph.rows.row_count.sum() == 3 * 62 + entering
    assert marked.traced.stdout == marked.plain.stdout
    assert record_file(source).work.flops > 3 * 62

"""Fortran through flang: the stencil equals its C version value by value; runtime calls give exact chains."""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.foundation.errors import CompileError
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.counts import count_volume
from tests.e2e import theory
from tests.e2e.analysed import analyse_text, flang
from tests.native import ROOT
from tests.recorded import Recorded, record_file

FLANG = flang()
FOLDER = ROOT / "workloads" / "stencil3d"
N, STEPS = 12, 3
Place = tuple[str, int]
Origins = dict[int, set[Place]]
Both = tuple[ca.AnalysisResult, ca.AnalysisResult]


@pytest.fixture(scope="module", params=["copy", "swap"])
def both(request: pytest.FixtureRequest) -> Both:
    """The main loop in Fortran and in C."""
    both = [
        ca.analyze(
            FOLDER / f"stencil3d.{suffix}",
            (N, STEPS, request.param),
            nodes=8,
            regions=["stencil_run"],
            program_output="discard",
            check=True,
        )
        for suffix in ("f90", "c")
    ]
    return both[0], both[1]


def array_chains(graph: ValueGraph, names: dict[str, str]) -> Counter[tuple[Place, frozenset[Place]]]:
    """How often each element of an array got a value, and from which elements, arrays renamed."""
    places = [
        (names.get(graph.objects[o].name, graph.objects[o].name), int(f))
        for o, f in zip(graph.home_object, graph.home_offset, strict=True)
    ]
    is_array = [graph.objects[o].kind is HomeKind.HEAP for o in graph.home_object]
    found: Counter[tuple[Place, frozenset[Place]]] = Counter()
    for row in range(graph.num_rows):
        sink = int(graph.rows.row_sink[row])
        if not is_array[sink] or not graph.rows.row_count[row]:
            continue
        first, last = graph.rows.source_ptr[graph.rows.term_ptr[row : row + 2]]
        sources = frozenset(places[int(s)] for s in graph.rows.source[first:last])
        found[places[sink], sources] += int(graph.rows.row_count[row])
    return found


def test_every_chain_is_that_of_the_c_version(both: Both) -> None:
    fortran, c = both
    chains = array_chains(c.graph, {"a": "grid", "b": "work"})
    assert chains.total() == N**3 * STEPS
    assert array_chains(fortran.graph, {}) == chains


def test_work_is_seven_operations_per_point(both: Both) -> None:
    assert [r.work.flops for r in both] == [theory.stencil3d_flops(N, STEPS)] * 2


def test_blocks_cost_the_same_bytes_in_both_languages(both: Both) -> None:
    expected = 8 * STEPS * theory.stencil3d_words_per_step(N, 2, 2, 2)
    for result in both:
        graph = result.graph
        is_array = np.array([o.kind is HomeKind.HEAP for o in graph.objects])[graph.home_object]
        layers = graph.home_offset // 8
        half = [(layers // (N + 2) ** axis % (N + 2) > N // 2).astype(np.int32) for axis in range(3)]
        part = np.where(is_array, half[0] + 2 * half[1] + 4 * half[2], 0).astype(np.int32)
        assert count_volume(graph, part, 8).total_bytes == expected


def test_the_decomposition_found_is_as_good_as_that_of_c(both: Both) -> None:
    fortran, c = (result.best(8).comm_bytes for result in both)
    assert fortran == pytest.approx(c, rel=0.08)


def test_variables_have_their_source_names(both: Both) -> None:
    arrays = {o.name: (o.function, o.line) for o in both[0].graph.objects if o.kind is HomeKind.HEAP}
    lines = (FOLDER / "stencil3d.f90").read_text().replace(" ", "").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "allocate(grid" in text)
    assert arrays == {"grid": ("main program", line), "work": ("main program", line)}


def test_what_the_compiler_keeps_has_the_names_of_the_statement() -> None:
    """Temporaries of array expressions, sums that are made in the library, and what is only printed."""
    text = """program power
  implicit none
  real(8) :: a(20,20), x(20), y(20), norm, rq
  integer :: k
  call random_number(a)
  x = 1
  do k = 1, 5
    y = matmul(a, x)
    norm = sqrt(dot_product(y, y))
    if (norm > 0) rq = sum(x * y) &
      + norm
    x = y / norm
  end do
  print *, rq, sum(y), maxval(y), &
    dot_product(y, x) + 1
end program
"""
    found = analyse_text(text, suffix=".f90", nodes=4).graph
    homes = [found.objects[number] for number in np.unique(found.home_object).tolist()]
    names = {o.name for o in homes if o.kind is not HomeKind.STACK}  # array descriptors
    assert {"a", "x", "y", "norm"} <= names
    printed = {"sum(y)", "maxval(y)", "dot_product(y,x)+1"}
    assert printed <= names
    hidden = {"other memory", "commanalyzer.output"}
    assert names <= {"a", "x", "y", "norm", "rq", "temporary of y", "temporary of rq"} | hidden | printed


def test_a_sum_whose_place_is_unknown_is_not_the_array_that_a_loop_makes_of_it() -> None:
    text = """program scaled
  type part
    real(8), allocatable :: h(:), u(:)
  end type
  type(part) :: d
  integer :: i
  real(8) :: m
  allocate(d%h(20), d%u(20))
  call random_number(d%h)
  m = sum(d%h)
  do i = 1, 20
    d%u(i) = d%h(i) / m
  end do
  print *, d%u(3)
end program
"""
    objects = analyse_text(text, suffix=".f90", nodes=2).graph.objects
    assert [o.name for o in objects if o.kind is HomeKind.REGISTER] == ["temporary of d%u"]


def test_what_is_assigned_from_a_temporary_for_every_element_is_private_too() -> None:
    """Elements of 4 x 4 points: products of matrices in ``w``, then what leaves through two edges of each.

    Values are sent along cut edges and of ``d``: the bounds and strides in descriptors of arrays are none.
    """
    text = """module operators
  implicit none
  integer, parameter :: n = 4
  real(8) :: d(n,n)
contains
  subroutine element(u, r)
    real(8), intent(in) :: u(:,:)
    real(8), intent(out) :: r(:,:)
    real(8) :: w(n,n)
    w = matmul(d, u)
    r = matmul(w, transpose(d)) + u
  end subroutine
end module
program elements
  use operators
  implicit none
  integer, parameter :: e = 16
  real(8), allocatable :: u(:,:,:,:), r(:,:,:,:)
  integer :: k, l, t
  allocate(u(n,n,e,e), r(n,n,e,e))
  call random_number(d)
  call random_number(u)
  do t = 1, 3
    do l = 1, e; do k = 1, e
      call element(u(:,:,k,l), r(:,:,k,l))
    end do; end do
    do l = 2, e; do k = 2, e
      r(1,:,k,l) = r(1,:,k,l) + r(n,:,k-1,l)
      r(:,1,k,l) = r(:,1,k,l) + r(:,n,k,l-1)
    end do; end do
    u = u + 0.01d0 * r
  end do
  print *, sum(u)
end program
"""
    found = analyse_text(text, suffix=".f90", nodes=16).decomposition(16)
    edges, all_nodes = 8 * 3 * 2 * 3 * 15 * 4, 15 * 8 * (16 + 1)  # three cuts each way; d, what is printed
    assert found.comm_bytes == edges + all_nodes


def plain_flang(source: Path, folder: Path, *arguments: str) -> tuple[int, bytes]:
    program = folder / "plain"
    subprocess.run([*FLANG.command, "-O2", str(source), "-o", str(program)], check=True, cwd=folder)
    done = subprocess.run([str(program), *arguments], capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout


@pytest.mark.parametrize("arguments", [["9", "4", "swap"], ["0"], ["8x"], ["3", "3", "both"]])
def test_output_and_status_are_those_of_flangs_program(arguments: list[str], tmp_path: Path) -> None:
    source = FOLDER / "stencil3d.f90"
    recorded = record_file(source, *arguments)
    assert (recorded.traced.exit_status, recorded.traced.stdout) == plain_flang(source, tmp_path, *arguments)


# --- the runtime -----------------------------------------------------------------------------------------

HEADER = """
module data
  implicit none
  integer, parameter :: n = 4
  real(8) :: a(n, n), b(n, n), c(n, n), v(n), w(n), s, r(13), t(n, n, 5)
  real(8), allocatable :: h(:, :), g(:)
  real(8), pointer :: p(:)
  integer(4) :: whole(n), number
  logical :: mask(n, n)
end module
program test
  use data
  implicit none
  integer :: i, j
  do j = 1, n
    v(j) = j
    w(j) = 2 * j
    whole(j) = 3 * j
    do i = 1, n
      a(i, j) = i + 10 * j
      b(i, j) = i - j
    end do
  end do
"""
ELEMENTS = range(4)


def of(name: str, elements: Iterable[int] = ELEMENTS) -> set[Place]:
    return {(f"data::{name}", k) for k in elements}


def run(text: str, tmp_path: Path) -> Recorded:
    source = tmp_path / "test.f90"
    source.write_text(f"{HEADER}{text}\nend program\n")
    recorded = record_file(source)
    assert (recorded.traced.exit_status, recorded.traced.stdout) == plain_flang(source, tmp_path)
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.plan.sites.externals == [], "every runtime function that is called is known"
    return recorded


def origins(recorded: Recorded, name: str, module: str = "data", *, is_heap: bool = False) -> Origins:
    """Per element of ``name``: values of modules it was last computed from, through temporaries."""
    graph, rows_of = recorded.graph, dict[int, list[int]]()
    for row, sink in enumerate(graph.rows.row_sink):
        rows_of.setdefault(int(sink), []).append(row)

    def sources(rows: list[int]) -> set[Place]:
        found: set[Place] = set()
        for row in rows:
            first, last = graph.rows.source_ptr[graph.rows.term_ptr[row : row + 2]]
            for source in map(int, graph.rows.source[first:last]):
                kept_in = graph.objects[graph.home_object[source]]
                if kept_in.kind is HomeKind.STACK:  # a temporary result may be a sum in memory
                    found |= sources(rows_of[source])
                elif kept_in.kind is HomeKind.REGISTER or kept_in.name.startswith(("malloc", "temporary of")):
                    found |= sources(rows_of[source][-1:])
                else:
                    found.add((kept_in.name, int(graph.home_offset[source]) // 8))
        return found

    # an allocatable is two objects of one name: the global with its descriptor, and the array
    kind = HomeKind.HEAP if is_heap else HomeKind.GLOBAL
    objects = [(o.kind, o.name) == (kind, f"{module}::{name}") for o in graph.objects]
    vertices = [v for v, o in enumerate(graph.home_object) if objects[o] and v in rows_of]
    return {int(graph.home_offset[v]) // 8: sources(rows_of[v][-1:]) for v in vertices}


def element(i: int, j: int) -> int:
    """Position of a(i + 1, j + 1) in memory."""
    return i + 4 * j


REDUCTIONS = {
    "sum(a)": of("a", range(16)),
    "maxval(a)": of("a", range(16)),
    "minval(v)": of("v"),
    "product(v)": of("v"),
    "norm2(w)": of("w"),
    "dot_product(v, w)": of("v") | of("w"),
    "sum(a(2, :))": of("a", (element(1, j) for j in ELEMENTS)),
    "product(a(1:4:2, 3))": of("a", (element(0, 2), element(2, 2))),
    "2 * findloc(w, 4d0, dim=1)": of("w"),
    "sum(minloc(a)) + sum(maxloc(a, dim=1))": of("a", range(16)),
    "sum(count(a > 20, dim=1)) + sum(norm2(a, dim=2))": of("a", range(16)),
    "2 * real(dot_product(cmplx(v, w, 8), cmplx(w, v, 8)))": of("v") | of("w"),
    "2 * sum(transfer(v, w))": of("v"),
}


def test_reductions_have_every_element_as_source(tmp_path: Path) -> None:
    lines = [f"r({k}) = {call}" for k, call in enumerate(REDUCTIONS, 1)]
    recorded = run("\n".join([*lines, "print *, r"]), tmp_path)
    assert origins(recorded, "r") == dict(enumerate(REDUCTIONS.values()))


def test_reductions_with_a_mask_or_a_dimension_have_the_chosen_elements(tmp_path: Path) -> None:
    calls = "s = sum(v, mask=v > 2)\nt(:, 1, 1) = 3 * sum(a, dim=1)\nt(:, 2, 1) = 3 * maxval(a, dim=2)"
    recorded = run(f"{calls}\nprint *, s, t(:, :2, 1)", tmp_path)
    assert of("v", (2, 3)) <= origins(recorded, "s")[0] <= of("v")
    columns = [of("a", (element(i, k) for i in ELEMENTS)) for k in ELEMENTS]
    lines = [of("a", (element(k, j) for j in ELEMENTS)) for k in ELEMENTS]
    assert origins(recorded, "t") == dict(enumerate(columns + lines))


def test_matmul_has_a_row_and_a_column_for_each_element(tmp_path: Path) -> None:
    text = "c = 2 * matmul(a, b)\nt(:, :, 1) = 2 * matmul(transpose(a), b)\nprint *, c, t(:, :, 1)"
    recorded = run(text, tmp_path)
    for name, is_transposed in (("c", False), ("t", True)):
        assert origins(recorded, name) == {
            element(i, j): of("a", (element(*((k, i) if is_transposed else (i, k))) for k in ELEMENTS))
            | of("b", (element(k, j) for k in ELEMENTS))
            for i in ELEMENTS
            for j in ELEMENTS
        }
    # 2 flops per term, and the doubling; work of the set-up is none (whole numbers are converted)
    assert recorded.work.flops == 2 * (2 * 4**3 + 16)


REARRANGED: dict[str, Callable[[int, int], Place]] = {
    "transpose(a)": lambda i, j: ("data::a", element(j, i)),
    "spread(v, 1, n)": lambda i, j: ("data::v", j),
    "spread(v, 2, n)": lambda i, j: ("data::v", i),
    "reshape(a, [n, n], order=[2, 1])": lambda i, j: ("data::a", element(j, i)),
    "cshift(a, 1, dim=2)": lambda i, j: ("data::a", element(i, (j + 1) % 4)),
}


def test_rearrangements_keep_the_values(tmp_path: Path) -> None:
    lines = [f"h = {call}\nt(:, :, {k}) = 3 * h" for k, call in enumerate(REARRANGED, 1)]
    found = origins(run("\n".join([*lines, "print *, t"]), tmp_path), "t")
    for k, source in enumerate(REARRANGED.values()):
        assert {n: found[16 * k + n] for n in range(16)} == {
            element(i, j): {source(i, j)} for i in ELEMENTS for j in ELEMENTS
        }


def test_overlapping_and_growing_assignments_keep_the_values(tmp_path: Path) -> None:
    recorded = run("v = v(n:1:-1)\ng = v\ng = [g, w(2)]\nw = 2 * g(2:5)\nprint *, w, size(g)", tmp_path)
    expected = {0: of("v", [2]), 1: of("v", [1]), 2: of("v", [0]), 3: of("w", [1])}
    assert origins(recorded, "w") == expected


def test_pointers_and_allocatables_are_heap_arrays_with_their_names(tmp_path: Path) -> None:
    text = """
  allocate (p(n), g(0:n - 1))
  do i = 1, n
    p(i) = 2 * v(i)
  end do
  do i = 1, n
    g(i - 1) = p(i) + w(i)
  end do
  s = sum(g)
  deallocate (p, g)
  print *, s"""
    recorded = run(text, tmp_path)
    assert origins(recorded, "p", is_heap=True) == {k: {("data::v", k)} for k in ELEMENTS}
    assert origins(recorded, "g", is_heap=True) == {k: {("data::p", k), ("data::w", k)} for k in ELEMENTS}


DEEP = """module forest
  type leaf
    real(8), allocatable :: v(:)
    integer :: k
  end type
  type, extends(leaf) :: tree
    type(leaf) :: pair(2)
    type(leaf), allocatable :: more(:)
    character(len=:), allocatable :: name
  end type
  real(8) :: x(4), y(4)
end module
program copies
  use forest
  type(tree) :: a, b
  class(leaf), allocatable :: c
  type(leaf), allocatable :: d(:)
  integer :: i
  do i = 1, 4
    x(i) = 0.5d0 * i
  end do
  allocate (a%v(1), a%pair(2)%v(1), a%more(2))
  allocate (a%more(2)%v(1))
  a%v(1) = x(1)
  a%pair(2)%v(1) = x(2)
  a%more(2)%v(1) = x(3)
  a%name = 'oak'
  b = a
  allocate (c, source=a)
  d = b%more
  a%v = 0
  y(1) = 2 * b%v(1)
  y(2) = 2 * b%pair(2)%v(1)
  y(3) = 2 * d(2)%v(1)
  y(4) = 2 * c%v(1)
  print *, y, b%name, size(b%more)
end program
"""


def test_copies_of_derived_types_keep_the_values_of_their_components(tmp_path: Path) -> None:
    source = tmp_path / "deep.f90"
    source.write_text(DEEP)
    recorded = record_file(source)
    assert (recorded.traced.exit_status, recorded.traced.stdout) == plain_flang(source, tmp_path)
    assert recorded.plan.sites.externals == []
    found = origins(recorded, "y", "forest")
    assert found == {i: {("forest::x", j)} for i, j in enumerate((0, 1, 2, 0))}


def test_random_numbers_and_input_are_inputs(tmp_path: Path) -> None:
    recorded = run("call random_number(v)\nw = 2 * v\nprint *, all(w >= 0)", tmp_path)
    assert origins(recorded, "w") == {k: {("data::v", k)} for k in ELEMENTS}


def test_modules_in_several_files_and_c_in_between(tmp_path: Path) -> None:
    texts = {
        "grid.f90": """module grid
  use iso_c_binding
  real(c_double) :: u(8)
  interface
    subroutine scale(n, x) bind(c)
      import
      integer(c_int), value :: n
      real(c_double) :: x(*)
    end subroutine
  end interface
end module
""",
        "scale.c": "void scale(int n, double *x) { for (int i = 1; i < n; i++) x[i] += x[i - 1]; }",
        "main.f90": "program p\n use grid\n u = 1\n call scale(8, u)\n print *, u(8)\nend\n",
    }
    files = [tmp_path / name for name in texts]
    for file in files:
        file.write_text(texts[file.name])
    result = ca.analyze(files, nodes=[2], program_output="discard", check=True)
    assert result.work.flops == 7
    assert "grid::u" in {o.name for o in result.graph.objects}
    with pytest.raises(CompileError, match="grid") as caught:
        ca.analyze(files[::-1], nodes=[2])
    assert "order" in caught.value.hint


def test_a_missing_compiler_says_what_to_install(tmp_path: Path) -> None:
    source = tmp_path / "a.f90"
    source.write_text("end\n")
    with pytest.raises(CompileError, match="no program named 'no-flang'") as caught:
        ca.analyze(source, fc="no-flang")
    assert "flang-19" in caught.value.hint


PARAMETERS = """
program weights
  real(8), parameter :: w(9) = [1d0, 2d0, 3d0, 4d0, 5d0, 6d0, 7d0, 8d0, 9d0]
  real(8) :: u(32, 32, 0:1) = 1, s
  integer :: t
  do t = 1, 4
    do j = 2, 31
      do i = 2, 31
        s = 0
        do k = 0, 8
          s = s + w(k + 1) * u(i + mod(k, 3) - 1, j + k / 3 - 1, mod(t, 2))
        end do
        u(i, j, 1 - mod(t, 2)) = s
      end do
    end do
  end do
  print *, u(5, 5, 1)
end program
"""


def test_parameters_are_literals() -> None:
    best = analyse_text(PARAMETERS, suffix=".f90", nodes=4, check=True).best(4)
    assert best.comm_bytes == theory.WORD_BYTES * 4 * (2 * 2 * 30 + 4)  # lines of 30 points, four corners


MASKED = """
program shifts
  real(8), allocatable :: u(:, :), w(:, :)
  integer :: i, j, t
  allocate(u(32, 32), w(32, 32))
  do j = 1, 32
    do i = 1, 32
      u(i, j) = sin(0.1d0 * i * j)
    end do
  end do
  do t = 1, 3
    w = 0.25d0 * (cshift(u, 1, 1) + cshift(u, -1, 1) + cshift(u, 1, 2) + cshift(u, -1, 2))
    where (w > 0.1d0)
      u = w
    elsewhere
      u = 0.5d0 * (u + w)
    end where
  end do
  print *, sum(u * u)
end program
"""


def test_what_is_packed_for_a_mask_is_private_to_its_statement() -> None:
    """Places of the packed memory serve other elements in each step; 8 cuts, around the ends as well."""
    found = analyse_text(MASKED, suffix=".f90", nodes=16).decomposition(16)
    assert found.communication.low_bytes == found.comm_bytes
    assert found.comm_bytes == theory.WORD_BYTES * (3 * 8 * 2 * 32 + 15)
    assert found.method.startswith("blocks 4x4")


def test_what_a_structure_is_constructed_in_is_home_of_no_element() -> None:
    """Three unknowns of a point are first in one temporary for all, then in two arrays that are copied.

    Beside a cut, both sides read two unknowns of the other; and there is one partial sum.
    """
    text = """program waves
      implicit none
      type cell
        real(8) :: h, u, v
      end type
      type(cell), allocatable :: a(:, :), b(:, :)
      integer :: i, j, s
      allocate (a(24, 24), b(24, 24))
      do j = 1, 24
        do i = 1, 24
          a(i, j) = cell(mod(i * j, 7) + 1d0, mod(i, 3) * 1d0, mod(j, 3) * 1d0)
        end do
      end do
      b = a
      do s = 1, 3
        do j = 2, 23
          do i = 2, 23
            b(i, j)%h = a(i, j)%h - 0.1d0 * (a(i + 1, j)%u - a(i - 1, j)%u + a(i, j + 1)%v - a(i, j - 1)%v) &
              + 0.01d0 * (a(i, j)%u + a(i, j)%v)
            b(i, j)%u = a(i, j)%u - 0.1d0 * (a(i + 1, j)%h - a(i - 1, j)%h) + 0.01d0 * a(i, j)%h
            b(i, j)%v = a(i, j)%v - 0.1d0 * (a(i, j + 1)%h - a(i, j - 1)%h) + 0.01d0 * a(i, j)%h
          end do
        end do
        a = b
      end do
      print *, sum(a%h)
    end program
    """
    found = analyse_text(text, suffix=".f90", nodes=2).decomposition(2)
    assert found.method.startswith("blocks")
    assert found.comm_bytes == 3 * 2 * 2 * 22 * 8 + 8


def test_points_of_several_values_on_a_ring_are_a_square() -> None:
    """Nine values come from all neighbours: three cross each place of an edge, one more each corner."""
    text = """program lattice
      implicit none
      integer, parameter :: cx(0:8) = [0, 1, 0, -1, 0, 1, -1, -1, 1], cy(0:8) = [0, 0, 1, 0, -1, 1, 1, -1, -1]
      integer :: n, i, j, q, s
      real(8), allocatable :: f(:, :, :), g(:, :, :)
      real(8) :: r, u, v
      n = 23 + command_argument_count()
      allocate (f(0:8, n, n), g(0:8, n, n))
      do j = 1, n
        do i = 1, n
          f(:, i, j) = 1 + 0.01d0 * mod(i * j, 7)
        end do
      end do
      do s = 1, 3
        do j = 1, n
          do i = 1, n
            do q = 0, 8
              g(q, i, j) = f(q, modulo(i - 1 - cx(q), n) + 1, modulo(j - 1 - cy(q), n) + 1)
            end do
          end do
        end do
        do j = 1, n
          do i = 1, n
            r = sum(g(:, i, j))
            u = sum(cx * g(:, i, j)) / r
            v = sum(cy * g(:, i, j)) / r
            do q = 0, 8
              f(q, i, j) = g(q, i, j) - 0.6d0 * (g(q, i, j) - r * (1 + cx(q) * u + cy(q) * v) / 9)
            end do
          end do
        end do
      end do
      print *, sum(f)
    end program
    """
    found = analyse_text(text, "", suffix=".f90", nodes=4).decomposition(4)
    assert found.grid == (2, 2)
    assert found.comm_bytes == 3 * 8 * 4 * (4 * 3 * 12 - 4) + 3 * 8


def test_literal_arguments_are_sent_to_nobody() -> None:
    """Shallow water on staggered points: beside a cut, one side reads the height, the other the velocity."""
    text = """module water
      implicit none
      real(8), allocatable :: h(:, :), u(:, :), v(:, :)
    contains
      subroutine step(nx, ny, dt)
        integer, intent(in) :: nx, ny
        real(8), intent(in) :: dt
        integer :: i, j
        do j = 1, ny
          do i = 2, nx
            u(i, j) = u(i, j) - dt * (h(i, j) - h(i - 1, j))
          end do
        end do
        do j = 2, ny
          do i = 1, nx
            v(i, j) = v(i, j) - dt * (h(i, j) - h(i, j - 1))
          end do
        end do
        do j = 1, ny
          do i = 1, nx
            h(i, j) = h(i, j) - dt * (u(i + 1, j) - u(i, j) + v(i, j + 1) - v(i, j))
          end do
        end do
      end subroutine
    end module
    program main
      use water
      implicit none
      integer :: s, i, j
      allocate (h(24, 20), u(25, 20), v(24, 21))
      u = 0
      v = 0
      do j = 1, 20
        do i = 1, 24
          h(i, j) = 1 + 0.1d0 * mod(i * j, 5)
        end do
      end do
      do s = 1, 3
        call step(24, 20, 0.1d0)
      end do
      print *, sum(h)
    end program
    """
    result = analyse_text(text, suffix=".f90", nodes=(2, 4))
    assert result.decomposition(2).comm_bytes == 3 * 8 * 2 * 20 + 8
    assert result.decomposition(4).comm_bytes == 3 * 8 * 2 * (20 + 24) + 3 * 8

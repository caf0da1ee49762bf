"""Arrays are told apart by the calls that allocate them, and bear the names that the source gives them."""

from pathlib import Path

import numpy as np
import pytest

import commanalyzer as ca
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.e2e.analysed import analyse_text, flang
from tests.property.test_flows import check
from tests.recorded import record_file, record_source

PROGRAMS = Path(__file__).parent / "objects"
N = 20
Expected = dict[str, tuple[str, int]]
VECTOR = 8 * N


def declared(name: str, text: str) -> int:
    """Line of a program on which ``text`` stands first."""
    lines = (PROGRAMS / name).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def arrays(graph: ValueGraph) -> dict[str, tuple[str, int, int]]:
    """Function, line and bytes of the heap objects with at least ten values, by their names."""
    values = np.bincount(graph.home_object, minlength=len(graph.objects))
    found = [
        item
        for item, count in zip(graph.objects, values.tolist(), strict=True)
        if item.kind is HomeKind.HEAP and count >= 10
    ]
    assert len({item.name for item in found}) == len(found), "names tell arrays apart"
    return {item.name: (item.function, item.line, item.size_bytes) for item in found}


def places(graph: ValueGraph) -> dict[str, tuple[int, int]]:
    return {name: (line, size) for name, (_, line, size) in arrays(graph).items()}


def test_arrays_from_allocators_of_a_c_program() -> None:
    """Wrappers of wrappers, out-parameters, structures, recursion, a function pointer, loops, time steps."""
    recorded = record_file(PROGRAMS / "wrappers.c")
    check("wrappers.c", recorded)
    plain, lined, taken, retried = (
        ("main", declared("wrappers.c", text)) for text in ("*plain", "*lined", "if (grab", "*retried")
    )
    x, y = (("init_mesh", declared("wrappers.c", text)) for text in ("m->x = ", "m->y = "))
    energy = "new_state", declared("wrappers.c", "s->energy = ")
    scratch = "main", declared("wrappers.c", "double *scratch")
    meshes = ("local", "returned", "first.mesh", "second.mesh", "global_mesh")
    assert arrays(recorded.graph) == {
        "plain": (*plain, VECTOR),
        "other": (*plain, 2 * VECTOR),
        "lined": (*lined, VECTOR),
        "taken": (*taken, VECTOR),
        "retried": (*retried, VECTOR),
        **{f"{mesh}.x": (*x, VECTOR) for mesh in meshes},
        **{f"{mesh}.y": (*y, VECTOR) for mesh in meshes},
        **{f"{state}.energy": (*energy, 2 * VECTOR) for state in ("first", "second")},
        "shared": ("setup", declared("wrappers.c", "shared = vector"), VECTOR),
        "indirect": ("main", declared("wrappers.c", "double *indirect"), VECTOR),
        "rows": ("main", declared("wrappers.c", "rows[i] = vector"), N * (VECTOR + 16) - 16),
        **{f"field[{k}]": ("main", declared("wrappers.c", "field[k] = vector"), VECTOR) for k in range(3)},
        # allocated again in every time step, to the same places
        "scratch": (*scratch, VECTOR),
        "next": (*scratch, VECTOR),
        **{f"stage[{k}]": ("main", declared("wrappers.c", "stage[k] = aligned"), VECTOR) for k in range(2)},
    }


def test_arrays_in_one_block() -> None:
    """Arenas, pools, rows that are cut from an arena, members of static objects; a view is none."""
    recorded = record_file(PROGRAMS / "pools.c")
    check("pools.c", recorded)
    expected = {
        "u": ("*u = field", VECTOR + 32),  # the arena rounds to 64 bytes
        "v": ("*u = field", 2 * VECTOR),
        "w[0]": ("w[k] = field", N * VECTOR),
        "w[1]": ("w[k] = field", N * VECTOR),
        "rows": ("rows[k] = field", (N - 1) * (VECTOR + 32) + VECTOR),
        "q.rho": ("q.rho = push", VECTOR),
        "q.e": ("q.e = push", VECTOR),
        "padded": ("*padded = malloc", 8 * (N + 2) ** 2),
        "left": ("*left = pool", N * VECTOR),
        "right": ("*right = pool", 2 * VECTOR),
        "made.x": ("init_mesh(&made", VECTOR),
        "made.y": ("m->y = block", 2 * VECTOR),
    }
    found = places(recorded.graph)
    assert found == {key: (declared("pools.c", text), size) for key, (text, size) in expected.items()}
    statics = {o.name: (o.line, o.size_bytes) for o in recorded.graph.objects if o.kind is HomeKind.GLOBAL}
    statics.pop("commanalyzer.output", None)  # what is printed
    assert statics == {
        "fixed.a": (declared("pools.c", "double a[30]"), 240),
        "fixed.b": (declared("pools.c", "double b[6][5]"), 240),
        "fixed.scale": (declared("pools.c", "double scale"), 8),
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "domain.cpp",
            {
                "domain.m_x": ("m_x.resize", VECTOR + 8),
                "domain.m_force": ("m_force.resize", VECTOR + 8),
                "domain.m_gradient": ("m_gradient = allocate", VECTOR),
                "stress": ("double *stress", VECTOR),
            },
        ),
        (
            "containers.cpp",
            {
                "solver.mesh.x": (" x.resize", 2 * VECTOR),
                "solver.mesh.y": (" y.resize", 2 * VECTOR),
                "solver.pressure": ("explicit Solver", VECTOR),
                "solver.raw": ("explicit Solver", VECTOR),
                "solver.owned": ("explicit Solver", VECTOR),
                "other.mesh.x": ("explicit Mesh", VECTOR),
                "other.mesh.y": ("explicit Mesh", VECTOR),
                "other.pressure": ("explicit Solver", VECTOR),
                "other.raw": ("explicit Solver", VECTOR),
                "other.owned": ("explicit Solver", VECTOR),
                "local": ("> local(n)", VECTOR),
                "smart": ("auto smart", VECTOR),
                "rows": ("> rows(n", N * (VECTOR + 16) - 16),
            },
        ),
        (
            "fields.cpp",
            {
                "made.temperature.m_data": ("m_data(new", N * VECTOR),
                "made.density": ("density.assign", VECTOR),
                "made.velocity[0]": ("velocity[0].resize", VECTOR),
                "made.velocity[1]": ("velocity[1].resize", VECTOR),
                "weights": ("> weights", VECTOR),
                "table": ("> weights", 2 * VECTOR),
                "particles": ("particles.resize", 2 * VECTOR),
            },
        ),
    ],
)
def test_members_and_containers_of_cplusplus_programs(name: str, expected: Expected) -> None:
    result = ca.analyze(PROGRAMS / name, args=[str(N)], nodes=[2], program_output="discard")
    found = places(result.graph)
    pushed = found.pop("pushed", None)
    if name == "containers.cpp":  # its elements live where they were pushed: blocks of 1, 2, 4, ... elements
        assert pushed is not None and pushed[0] == declared(name, "pushed.push_back")
    assert found == {key: (declared(name, text), size) for key, (text, size) in expected.items()}


def test_allocatables_of_a_fortran_program() -> None:
    fc, name = " ".join(flang().command), "allocatables.f90"
    result = ca.analyze(PROGRAMS / name, args=[str(N)], nodes=[2], fc=fc, program_output="discard")
    found = places(result.graph)
    assert found == {
        "fields::u": (declared(name, "allocate(u("), N * VECTOR),
        "fields::v": (declared(name, "allocate(u("), (N + 1) * VECTOR),
        # its size stands behind a pointer's array
        "fields::edge": (declared(name, "allocate(edge("), VECTOR + 8),
        "fields::coarse%p": (declared(name, "allocate(g%p"), VECTOR),
        "fields::coarse%q": (declared(name, "allocate(g%p"), 2 * VECTOR),
        "fine%p": (declared(name, "allocate(g%p"), VECTOR),
        "fine%q": (declared(name, "allocate(g%p"), 2 * VECTOR),
        "w": (declared(name, "call make(w,"), VECTOR),
        "z": (declared(name, "call make(z,"), 2 * VECTOR),
        "scratch": (declared(name, "allocate(scratch"), VECTOR),
    }


_RANGE = """struct At { double x; At &operator++(); double operator*() const; bool operator!=(At) const; };
[[gnu::noinline]] At &At::operator++() { x += 1; return *this; }
[[gnu::noinline]] double At::operator*() const { return x; }
[[gnu::noinline]] bool At::operator!=(At other) const { return x < other.x; }
struct Span { double low, high; At begin() const { return {low}; } At end() const { return {high}; } };
int main(int n, char **) { double sum = 0; for (double x : Span{n * 1., n * 9.}) sum += x; return sum != 36; }
"""


def test_what_the_compiler_makes_of_a_loop_over_a_range_is_a_temporary() -> None:
    objects = record_source(_RANGE, suffix=".cpp", has_cpp_library=False).graph.objects
    assert {item.name for item in objects if item.kind is HomeKind.STACK} == {"temporary"}


def test_what_the_library_sums_has_the_name_and_line_of_the_call() -> None:
    text = """#include <cstdio>
#include <numeric>
double v[64]; int main(int n, char **) { for (int i = 0; i < 64; i++) v[i] = n * i % 7;
  std::printf("%g", std::accumulate(v, v + 64, 0.0));
}"""
    objects = record_source(text, suffix=".cpp", has_cpp_library=False).graph.objects
    sums = [(o.name, o.line, o.file[-4:]) for o in objects if o.kind is HomeKind.REGISTER]
    assert sums == [("std::accumulate(v, v + 64, 0.0)", 4, ".cpp")]


def test_what_a_fortran_call_passes_has_the_name_of_its_argument() -> None:
    text = """program p
  real(8) :: v(50), w(50)
  do i = 1, 50; v(i) = i * 0.5d0; w(i) = i * i; end do
  call show(2, sum(v))
  if (v(1) < w(20)) call show(n=1, s=dot_product(v, w) &
    / 2)
  call show(int(v(1)), sum(w))
contains
recursive subroutine show(n, s)
  real(8), intent(in) :: s
  print *, s; if (n > 0) call show(n - 1, s)
end subroutine
end program
"""
    flang()
    objects = record_source(text, suffix=".f90").graph.objects
    names = {o.name for o in objects if o.kind is HomeKind.REGISTER}
    assert names == {"sum(v)", "dot_product(v,w)/2", "show(int(v(1)),sum(w))"}


def test_what_moves_along_rows_or_elements_or_copies_them_does_not_name_the_array() -> None:
    text = """
        #include <vector>
        int main(int n, char **) {
          std::vector<std::vector<double>> x(20, std::vector<double>(20));
          for (auto &row : x) for (auto &e : row) e = 0.5 * n;
          double *w = new double[400], sum = 0;
          for (double *p = w; p < w + 400; ++p) *p = n;
          for (int i = 20; i < 400; i++) w[i] += x[i / 20][i % 20] * w[i - 20];
          for (double *p = w; p < w + 400; ++p) sum += *p;
          auto next = x;
          for (auto &row : next) for (auto &e : row) sum += e *= 0.5;
          printf("%g\\n", sum);
        }"""
    graph = record_source(text, suffix=".cpp").graph
    heap = {o.name for o in graph.objects if o.kind is HomeKind.HEAP}
    assert heap - {"temporary"} == {"x", "w", "next"}  # what the rows are copies of


def test_members_of_structures_are_objects_wherever_these_live() -> None:
    """A complex number and a union are one each, an array in the library's wrapper has the user's name."""
    text = """
        #include <array>
        #include <complex>
        struct Vec { double x, y; };
        struct Sim {
          double dt; std::complex<double> z; std::array<double, 3> o; struct { Vec g; double h[4]; } in;
          union { double d; long l; } u; struct { double low; };
        };
        [[gnu::noinline]] void step(Sim &s, double n) {
          s.dt += n; s.z += n; s.o[2] += s.o[1]; s.in.g.y += n; s.in.h[3] += n; s.u.d += n; s.low += n;
        }
        int main(int n, char **) {
          static Sim fixed; Sim local = {}, *s = new Sim();
          std::array<double, 2> plain = {1. * n, 2.};
          for (Sim *each : {s, &local, &fixed}) for (int k = 0; k < 3; k++) step(*each, plain[n % 2]);
        }"""
    graph, of = record_source(text, suffix=".cpp").graph, ("fixed", "local", "s")
    sizes = {"dt": 8, "z": 16, "o": 24, "in.g.y": 8, "in.h": 32, "u": 8, "low": 8}
    members = {f"{whole}.{name}": size for whole in of for name, size in sizes.items()}
    assert {
        o.name: o.size_bytes for o in graph.objects if "." in o.name and "output" not in o.name
    } == members


def test_a_division_names_an_array_by_its_member() -> None:
    """``m_x`` is enough where only one object has such a member; a full name goes before that."""
    rules = ["m_x=block:2", "domain.m_force=block:2"]
    result = ca.analyze(PROGRAMS / "domain.cpp", [N], nodes=2, decompose=rules, program_output="discard")
    assert any("m_x=block:2" in d.method for d in result.decompositions)


def test_points_are_divided_not_the_members_of_their_structures() -> None:
    """Red and black points: in each of three sweeps, a colour reads what the other made beside two cuts."""
    text = """
        struct { double u, c[4]; } g[32][32];
        int main(void) {
          for (int i = 0; i < 32; i++) for (int j = 0; j < 32; j++) {
            g[i][j].u = i * 7 % 5 + j;
            for (int k = 0; k < 4; k++) g[i][j].c[k] = 0.25 - 0.001 * (i % 3);
          }
          for (int s = 0; s < 6; s++)
            for (int i = 1; i < 31; i++) for (int j = 1 + (i + s) % 2; j < 31; j += 2)
              g[i][j].u += g[i][j].c[0] * g[i - 1][j].u + g[i][j].c[1] * g[i + 1][j].u
                         + g[i][j].c[2] * g[i][j - 1].u + g[i][j].c[3] * g[i][j + 1].u - g[i][j].u;
          printf("%g\\n", g[9][9].u);
        }"""
    found = analyse_text(text, nodes=4).decomposition(4)
    assert found.grid == (2, 2)
    with pytest.raises(ca.CommAnalyzerError, match="32x160"):
        analyse_text(text, decompose="g[32x160]=block:2x2")
    assert found.comm_bytes == found.communication.high_bytes == 8 * 3 * 2 * 2 * 30


def test_arrays_behind_pointers_to_rows_have_their_declared_shapes() -> None:
    """60 small systems, each by itself: only the check sums meet, and no guess of 80 x 27 is offered."""
    text = """
        int main(void) {
          double (*a)[6][6] = malloc(60 * sizeof *a), (*x)[6] = malloc(60 * sizeof *x), sum = 0;
          for (int e = 0; e < 60; e++) for (int i = 0; i < 6; i++) {
            x[e][i] = 1 + i;
            for (int j = 0; j < 6; j++) a[e][i][j] = (i == j) * 10 + (e + i * j) % 3;
          }
          for (int e = 0; e < 60; e++) for (int k = 0; k < 6; k++) for (int i = k + 1; i < 6; i++) {
            double f = a[e][i][k] / a[e][k][k];
            for (int j = k; j < 6; j++) a[e][i][j] -= f * a[e][k][j];
            x[e][i] -= f * x[e][k];
          }
          for (int e = 0; e < 60; e++) sum += x[e][5] / a[e][5][5];
          printf("%g\\n", sum);
        }"""
    result = analyse_text(text, nodes=4)
    assert {o.name: o.strides for o in result.graph.objects if o.kind is HomeKind.HEAP} == {
        "a": (288, 48),
        "x": (48,),
    }
    found = result.decomposition(4)
    assert (found.method, found.comm_bytes) == ("blocks 4x1x1", 3 * 8)


def test_declared_rows_are_not_cut_by_steps_of_unrolled_loops() -> None:
    """Colours in turn read half of the bytes of the other beside each of two cuts; and one partial sum."""
    text = """
        static signed char s[32][32];
        int main(void) {
          int sum = 0;
          for (int i = 0; i < 1024; i++) s[i / 32][i % 32] = i * 7 % 5 < 2 ? 1 : -1;
          for (int p = 0; p < 6; p++) for (int i = 0; i < 32; i++) for (int j = (i + p) & 1; j < 32; j += 2) {
            int h = s[(i + 1) % 32][j] + s[(i + 31) % 32][j] + s[i][(j + 1) % 32] + s[i][(j + 31) % 32];
            s[i][j] = h * s[i][j] > 0 ? 1 : -1;
          }
          for (int i = 0; i < 32; i++) for (int j = 0; j < 32; j++) sum += s[i][j];
          printf("%d\\n", sum);
        }"""
    found = analyse_text(text, nodes=2).decomposition(2)
    assert found.method.split(" of ")[0] in {"blocks 2x1", "blocks 1x2"}
    assert found.comm_bytes == 6 * 2 * 2 * 16 + 4


@pytest.mark.parametrize(
    ("kind", "make", "to"), [("Grid *", "Grid *g = malloc(sizeof *g);", "->"), ("Grid ", "Grid g;", ".")]
)
def test_arrays_of_a_structure_that_a_function_returns_are_no_structures(
    kind: str, make: str, to: str
) -> None:
    text = """#include <stdlib.h>
typedef struct { int n; double *t, *k; } Grid;
__attribute__((noinline)) KINDmade(int n) {
  MAKE
  g->n = n; g->t = calloc(n * n, sizeof(double)); g->k = malloc(n * n * sizeof(double));
  for (int i = 0; i < n * n; i++) g->k[i] = i % 7;
  return g;
}
int main(int n, char **words) { KINDg = made(n + 15); for (int i = 0; i < 256; i++) g->t[i] += g->k[i];
  return g->t[7] != 0; }"""
    text = text.replace("MAKE", make).replace("KIND", kind).replace("->", to)
    heap = [o for o in record_source(text).graph.objects if o.kind is HomeKind.HEAP]
    assert {o.name: o.record_bytes for o in heap if o.size_bytes == 2048} == {"g.t": 0, "g.k": 0}

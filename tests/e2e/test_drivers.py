"""The compiler wrappers: programs built by make and cmake, analysed from their executables."""

import shutil
from pathlib import Path

import pytest

from commanalyzer.program.frontend.compile import compile_sources
from tests.e2e.analysed import flang
from tests.e2e.command import commanalyzer
from tests.e2e.projects import POINTS, SMOOTHING, STEPS, Project, make_project, measured

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
SOURCES = ("src/main.c", "src/x/part.c", "src/y/part.c")
# 1-D three-point stencil in p = 4 blocks: each inner boundary moves one number per side and step.
STENCIL_BYTES = 2 * 3 * 8 * STEPS + 3 * 8  # borders, and the sum that is printed
NOT_FOLLOWED = "1 object files without IR: what they compute is not followed"
ZIG = "python-zig cc -target x86_64-linux-gnu -mcpu=baseline -fno-sanitize=all"
# The compiler builds a runtime for each kind of machine and level of optimisation.
OTHERS = [
    pytest.param(flags, marks=pytest.mark.extended)
    for flags in ("-O0 -std=c99", "-O3 -fopenmp -march=native -flto -Wall -Werror -MMD -MP")
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def _best_bytes(document: dict[str, list[dict[str, int]]]) -> int:
    return next(d["comm_bytes"] for d in document["decompositions"] if d["best"])


@needs_make
@pytest.mark.parametrize("flags", [*OTHERS, "-O3 -fopenmp -Wall -Werror -MMD -MP"])
def test_make_built_program_is_analysed_like_its_sources(project: Project, flags: str) -> None:
    project.write(SMOOTHING)
    project.run(f'make CC="commanalyzer cc" CFLAGS="{flags}"')
    assert project.run(f"./prog {POINTS} {STEPS}").out == "179.559944 1\n"
    from_executable = project.analysis("./prog", "--nodes", 4, "-o", "prog.cmz", "--", POINTS, STEPS)
    from_sources = project.analysis(*SOURCES, "--nodes", 4, "--", POINTS, STEPS)
    assert measured(from_executable) == measured(from_sources)
    assert _best_bytes(from_executable) == STENCIL_BYTES
    ranks = project.run(f"commanalyzer profile prog --division prog.cmz -q -- {POINTS} {STEPS}").out
    assert "rank" in ranks and "sequential" in project.run("commanalyzer patterns prog.cmz -- 8 2").out
    # Of the archive, what the linker took; two objects of one name do not disturb each other.
    assert [i["path"] for i in from_executable["provenance"]["inputs"]] == ["prog", *SOURCES]
    assert (project.folder / "src/x/part.d").exists() == ("-MMD" in flags)


@needs_make
def test_optimisation_does_not_change_the_embedded_ir(project: Project) -> None:
    project.write(SMOOTHING)
    payloads = []
    levels = ("-O0", "-O1 -g", "-O2 -march=native -mtune=native", "-O3 -g3 -flto=auto", "-Os -fPIC -Wall")
    for level in levels:
        project.run(f"commanalyzer-cc {level} -std=c11 -c src/x/part.c -o part.o")
        project.run("commanalyzer-cc -O2 part.o src/main.c src/y/part.c -o prog")  # -O0: another runtime
        payloads.append(project.records("prog")[-1].payload)
    assert len(set(payloads)) == 1


CMAKE = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.10)
project(sample C CXX)
find_package(OpenMP REQUIRED)
add_custom_command(OUTPUT made.c COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/made.in made.c)
add_library(parts STATIC sum.cpp ${CMAKE_CURRENT_BINARY_DIR}/made.c)
add_library(steps SHARED steps.cpp)
add_executable(prog main.cpp)
target_compile_features(prog PRIVATE cxx_std_17)
target_link_libraries(prog parts steps OpenMP::OpenMP_CXX m)
""",
    "made.in": "double twice(double x) { return 2 * x; }\n",
    "sum.cpp": """
#include <numeric>
#include <vector>
double sum(const std::vector<double> &a) { return std::accumulate(a.begin(), a.end(), 0.0); }
""",
    "steps.cpp": """
#include <vector>
double shift = 7;
void step(std::vector<double> &a) {
  std::vector<double> b(a);
  for (std::size_t i = 1; i + 1 < a.size(); i++) a[i] = (b[i - 1] + b[i] + b[i + 1]) / (2 + shift);
}
""",
    "main.cpp": """
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
extern "C" double twice(double);
double sum(const std::vector<double> &);
void step(std::vector<double> &);
double shift = 1;
int main(int argc, char **argv) {
  std::vector<double> a(argc > 1 ? std::atoi(argv[1]) : 32, 1.0);
  for (std::size_t i = 0; i < a.size(); i++) a[i] = twice(i % 5) + shift;
  for (int s = 0; s < 5; s++) step(a);
  try {
    if (a.size() < 100) throw std::runtime_error("small");
  } catch (const std::exception &) {
    std::printf("%.4f\\n", sum(a));
  }
}
""",
}


@needs_cmake
def test_cmake_project_with_shared_object_and_generated_source(project: Project) -> None:
    project.write(CMAKE)
    project.run(
        "cmake -S . -B out -DCMAKE_C_COMPILER=commanalyzer-cc -DCMAKE_CXX_COMPILER=commanalyzer-c++ "
        "-DCMAKE_BUILD_TYPE=Release"
    )
    project.run("cmake --build out")
    # The program's variable takes the place of the shared object's: sums of three over 3, not over 9.
    assert project.run("out/prog 64").out == "315.7119\n"
    document = project.analysis("out/prog", "--nodes", 4, "--", 64)
    # Three points in 4 blocks, 5 steps; one node sends `shift` to three others, which send partial sums.
    assert _best_bytes(document) == 2 * 3 * 8 * 5 + 2 * 3 * 8
    # The shared object's function is followed; what remains belongs to the C++ library.
    assert all(name.startswith("_ZNSt") for name in document["recording"]["unmodelled_calls"])
    names = [Path(i["path"]).name for i in document["provenance"]["inputs"]]
    assert sorted(names) == ["made.c", "main.cpp", "prog", "steps.cpp", "sum.cpp"]


@needs_make
def test_executable_is_complete_without_its_build_tree(project: Project) -> None:
    project.write(SMOOTHING)
    project.run('make CC="commanalyzer cc -O2"')
    moved = project.folder / "elsewhere" / "renamed"
    moved.parent.mkdir()
    (project.folder / "prog").rename(moved)
    shutil.rmtree(project.folder / "src")
    (project.folder / "libtotal.a").unlink()
    document = project.analysis(moved, "--nodes", 4, "--", POINTS, STEPS)
    assert _best_bytes(document) == STENCIL_BYTES
    assert not any("libraries of the link" in warning for warning in document["warnings"])


def test_one_command_response_file_standard_input_and_assembly(project: Project) -> None:
    project.write(
        {
            "half.s": ".text\n.globl half\nhalf:\n mulsd value(%rip), %xmm0\n ret\n.data\n.align 8\n"
            'value: .double 0.5\n.section .note.GNU-stack,"",@progbits\n',
            "words.rsp": '-O2 -DSIZE=16\n"half.s" -x c - -o "my prog"\n',
        }
    )
    text = (
        "#include <stdio.h>\ndouble half(double), a[SIZE];\n"
        'int main(void) { for (int i = 0; i < SIZE; i++) a[i] = half(i); printf("%g\\n", a[7]); }\n'
    )
    project.run("commanalyzer-cc @words.rsp", stdin=text)
    assert project.run('"./my prog"').out == "3.5\n"
    assert [record.name for record in project.records("my prog")] == ["-"]
    assert "__x86_64__ 1" in project.run("commanalyzer-cc -E -dM -").out  # meson asks so
    document = project.analysis("my prog", "--nodes", 2)
    assert document["recording"]["unmodelled_calls"] == {"half": 16}
    assert f"{NOT_FOLLOWED}: half.s (assembly)" in document["warnings"]


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "-dumpmachine",
        "-E a.c",
        "-S -O2 a.c -o a.s",
        "-M a.c",
        "-print-search-dirs",
        "-Wall -c a.c",
    ],
)
def test_output_is_the_compilers(project: Project, words: str) -> None:
    project.write({"a.c": "int f(int a) { int unused; return a + 1; }\n"})
    wrapped = project.run(f"commanalyzer-cc {words}")
    plain = project.run(f"{ZIG} {words}")
    assert (wrapped.out, wrapped.err) == (plain.out, plain.err)


@pytest.mark.parametrize("words", ["-c a.c", "-O2 a.c -o prog", "-c missing.c", "-c a.c -Werror -Wall"])
def test_failures_are_the_compilers(project: Project, words: str) -> None:
    project.write({"a.c": "int f(int a) { int unused; return a + undeclared; }\n"})
    wrapped = project.run(f"commanalyzer-cc {words}", status=1)
    plain = project.run(f"{ZIG} {words}", status=1)
    assert wrapped.err == plain.err
    assert not (project.folder / "a.o").exists()


def test_intrinsics_keep_their_instruction_set_and_nothing_else_does(project: Project) -> None:
    body = "__m256d v = _mm256_set1_pd(n); _mm256_storeu_pd(a, v);"
    head = "#include <immintrin.h>\ndouble a[4];\nint main(int n, char **argv) { (void)argv;"
    project.write(
        {"needs.c": f"{head} {body} }}\n", "may.c": f"{head}\n#ifdef __AVX2__\n{body}\n#endif\n}}\n"}
    )
    for name in ("needs", "may"):
        project.run(f"commanalyzer-cc -mavx2 {name}.c -o {name}")
    texts = [compile_sources([project.folder / name]).ir_text for name in ("needs", "may")]
    assert ["+avx2" in text for text in texts] == [True, False]


def test_openmp_functions_that_the_program_declares_itself(project: Project) -> None:
    project.write(
        {
            "a.c": "int omp_get_num_threads(void);\ndouble a[8];\nint main(void) {\n"
            "  for (int i = 0; i < 8; i++) a[i] = i;\n  return omp_get_num_threads();\n}\n"
        }
    )
    project.run("commanalyzer-cc -O2 -fopenmp -x c a.c -o prog")
    project.run("./prog", status=1)
    assert project.analysis("prog", "--nodes", 2, "--allow-failure")["recording"]["exit_status"] == 1


def test_functions_inside_of_functions_are_named(project: Project) -> None:
    project.write(
        {"nest.c": "int main(int n, char **v) {\n  int f(void) { return n; }\n  return f() - 1;\n}\n"}
    )
    found = [commanalyzer(project.folder, "analyze", "nest.c")]
    if shutil.which("gcc"):  # which has no IR
        project.run("commanalyzer-cc nest.c -o nest", extra={"COMMANALYZER_CC": "gcc"})
        found.append(commanalyzer(project.folder, "analyze", "nest"))
        assert "with embedded IR, found only objects without: nest.c (no bitcode: nest.c:2" in found[1].err
    for done in found:
        assert done.status == 1 and "error: function definition is not allowed here" in done.err
        assert "hint: functions inside of functions, which only gcc has, cannot be followed" in done.err


def test_without_ir_it_says_how_to_build(project: Project) -> None:
    project.write({"a.c": "int main(void) { return 0; }\n"})
    project.run("python-zig cc -target x86_64-linux-gnu -mcpu=baseline -O2 a.c -o plain")
    project.run("commanalyzer-cc -c a.c")
    done = commanalyzer(project.folder, "analyze", "plain")
    assert done.status == 1
    assert "plain: expected an executable with embedded IR, found none" in done.err
    assert "make CC=commanalyzer-cc" in done.err
    done = commanalyzer(project.folder, "analyze", "a.o")
    assert "expected an executable, found an object file" in done.err
    done = commanalyzer(project.folder, "analyze", "plain", "a.c")
    assert "expected one executable or only sources" in done.err


def test_foreign_object_is_linked_again_and_named(project: Project) -> None:
    project.write(
        {
            "a.c": "double f(double), a[8];\nint main(void) { for (int i = 0; i < 8; i++) a[i] = f(i); }\n",
            "f.c": "double f(double x) { return x / 2; }\n",
        }
    )
    project.run("python-zig cc -target x86_64-linux-gnu -O2 -c f.c")
    project.run("commanalyzer-cc a.c f.o -o prog")
    (project.folder / "f.o").unlink()
    document = project.analysis("prog", "--nodes", 2)
    assert document["recording"]["unmodelled_calls"] == {"f": 8}
    assert f"{NOT_FOLLOWED}: f.o (not compiled by commanalyzer)" in document["warnings"]


def test_wrapper_in_cc_does_not_call_itself(project: Project) -> None:
    project.write(
        {"a.c": "double a[8];\nint main(int n, char **v) { for (int i = 0; i < 8; i++) a[i] = n; }\n"}
    )
    assert project.run("commanalyzer analyze -q a.c --nodes 2", extra={"CC": "commanalyzer-cc"}).err == ""
    project.run("commanalyzer-cc -O2 a.c -o prog", extra={"CC": "commanalyzer-cc"})
    done = project.run("commanalyzer-cc -c a.c", extra={"COMMANALYZER_CC": "commanalyzer cc"}, status=1)
    assert "COMMANALYZER_CC: expected a compiler, found a compiler wrapper of commanalyzer" in done.err


@pytest.mark.parametrize("compiler", ["clang", "gcc"])
def test_the_users_own_compiler_builds_the_program(project: Project, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    project.write(SMOOTHING)
    line = f"commanalyzer-cc -O2 -march=native -flto {' '.join(SOURCES)} -lm -o prog"
    project.run(line, extra={"COMMANALYZER_CC": compiler})
    comment = (project.folder / "prog").read_bytes()
    assert (b"GCC: (" in comment) if compiler == "gcc" else (b"clang version" in comment)
    document = project.analysis("prog", "--nodes", 4, "--", POINTS, STEPS)
    assert _best_bytes(document) == STENCIL_BYTES


_FAKE_CCACHE = """#!/bin/sh
# Hands out the object of an earlier, equal command: what ccache does.
key=$(echo "$*" | cksum | tr ' ' -)
for last; do :; done
store=$CACHED/$key.o
[ -f "$store" ] || { "$@" && cp "$last" "$store"; } || exit 1
cp "$store" "$last"
"""


@pytest.mark.parametrize("cache", ["fake", "ccache"])
def test_object_from_a_compiler_cache_carries_its_ir(project: Project, cache: str) -> None:
    project.write(SMOOTHING)
    stored = project.folder / "stored"
    stored.mkdir()
    environment = {"CACHED": str(stored), "CCACHE_DIR": str(stored), "CCACHE_COMPILERTYPE": "clang"}
    if cache == "fake":
        (project.folder / "bin/fakecache").write_text(_FAKE_CCACHE)
        (project.folder / "bin/fakecache").chmod(0o755)
    elif shutil.which("ccache") is None:
        pytest.skip("ccache is not installed")
    launcher = "fakecache" if cache == "fake" else "ccache"
    for _ in range(2):
        for source in SOURCES:
            project.run(f"{launcher} commanalyzer-cc -c {source} -o {source[:-2]}.o", extra=environment)
            assert list(stored.rglob("*"))
        objects = " ".join(f"{source[:-2]}.o" for source in SOURCES)
        project.run(f"commanalyzer-cc -O2 {objects} -o prog")
        assert [r.name for r in project.records("prog")] == list(SOURCES)
        for source in SOURCES:
            (project.folder / f"{source[:-2]}.o").unlink()
    if cache == "ccache":
        shown = project.run("ccache -s", extra=environment).out.replace(":", ": ")
        assert "Hits: 3 / 6" in " ".join(shown.split())


FORTRAN = {
    "grid.f90": """
module grid
  implicit none
contains
  subroutine smooth(b, a)
    real(8), intent(out) :: b(:)
    real(8), intent(in) :: a(:)
    integer :: i
    !$omp parallel do
    do i = 2, size(a) - 1
      b(i) = 0.25d0 * a(i - 1) + 0.5d0 * a(i) + 0.25d0 * a(i + 1)
    end do
  end subroutine
end module
""",
    "main.f90": """
program main
  use grid
  use iso_c_binding
  implicit none
  interface
    real(c_double) function total(a, n) bind(c)
      import
      integer(c_int), value :: n
      real(c_double) :: a(*)
    end function
  end interface
  real(8), allocatable :: a(:), b(:)
  integer :: i, s
  allocate(a(64), b(64))
  do i = 1, 64
    a(i) = mod(i - 1, 7)
    b(i) = a(i)
  end do
  do s = 1, 5
    call smooth(b, a)
    call smooth(a, b)
  end do
  print '(f10.6)', total(a, 64)
end program
""",
    "total.cpp": """
#include <numeric>
extern "C" double total(const double *a, int n) { return std::accumulate(a, a + n, 0.0); }
""",
    "Makefile": """
prog: main.o grid.o total.o
\t$(FC) -o $@ $^
main.o: grid.o
%.o: %.f90
\t$(FC) -O2 -c $< -o $@
""",
}


@needs_make
def test_fortran_and_cxx_in_one_program(project: Project) -> None:
    flang()
    project.write(FORTRAN)
    project.run('make CXX="commanalyzer c++" FC="commanalyzer fc"')
    assert project.run("./prog").out.strip() == "179.559944"
    document = project.analysis("prog", "--nodes", 4)
    assert _best_bytes(document) == STENCIL_BYTES
    inputs = [i["path"] for i in document["provenance"]["inputs"]]
    assert inputs == ["prog", "main.f90", "grid.f90", "total.cpp"]


def test_without_a_fortran_compiler_it_says_what_to_install(project: Project) -> None:
    done = project.run("commanalyzer-fc -c a.f90", status=1, extra={"PATH": str(project.folder / "bin")})
    assert "no Fortran compiler: expected one of" in done.err
    assert "apt-get install flang" in done.err

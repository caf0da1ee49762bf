"""Commands of the compiler wrappers with several sources, options of other compilers, OpenMP's header."""

import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.analysed import flang
from tests.e2e.projects import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


SEVERAL = {
    "a.c": "int a(void) { return 1; }\n",
    "with space.c": "int b(void) { return 2; }\n",
    "sub/c.c": '#include "c.h"\nint c(void) { return C; }\n',
    "sub/c.h": "#define C 3\n",
    "d.txt": "int d(void) { return 4; }\n",
    "words.rsp": '-O2 "with space.c"\n sub/c.c\n',
    "main.c": "int a(void), b(void), c(void);\nint main(void) { return a() + b() + c() - 6; }\n",
}


def made_files(project: Project, command: str, *, status: int = 0) -> dict[str, bytes]:
    """Content of the files that a command adds, and removes them; standard output as a file without name."""
    before = set(project.folder.rglob("*"))
    done = project.run(command, status=status)
    content = {"": done.out.encode()}
    for path in set(project.folder.rglob("*")) - before:
        name = path.relative_to(project.folder)
        if path.is_file() and name.parts[0] != "tmp":
            content[str(name)] = path.read_bytes()
            path.unlink()
    return content


@pytest.mark.parametrize(
    "words",
    [
        "-c a.c 'with space.c' sub/c.c",
        "-c a.c @words.rsp",
        "-MMD -c a.c sub/c.c",
        "-S a.c sub/c.c",
        "-fsyntax-only a.c sub/c.c",
        "-c -x c d.txt -x none a.c",
        "-MM a.c sub/c.c",
        "-E -P a.c sub/c.c",
    ],
)
def test_several_sources_give_the_files_that_gcc_makes(project: Project, words: str) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    project.write(SEVERAL)
    wrapped, plain = made_files(project, f"commanalyzer-cc {words}"), made_files(project, f"gcc {words}")
    assert wrapped.keys() == plain.keys()
    same = [name for name in plain if name == "" or name.endswith(".d")]
    squeezed = {name: b" ".join(wrapped[name].replace(b"\\\n", b" ").split()) for name in same}
    assert squeezed == {name: b" ".join(plain[name].replace(b"\\\n", b" ").split()) for name in same}


def test_objects_of_one_command_all_carry_their_ir(project: Project) -> None:
    project.write(SEVERAL)
    project.run("commanalyzer-cc -c main.c a.c 'with space.c' sub/c.c")
    project.run("commanalyzer-cc main.o a.o 'with space.o' c.o -o prog")
    project.run("./prog")
    assert [r.name for r in project.records("prog")] == ["main.c", "a.c", "with space.c", "sub/c.c"]


@pytest.mark.parametrize("action", ["-c", "-S", "-E"])
def test_one_output_for_several_sources_is_refused(project: Project, action: str) -> None:
    project.write(SEVERAL)
    assert made_files(project, f"commanalyzer-cc {action} a.c sub/c.c -o out.o", status=1) == {"": b""}


def test_of_several_sources_one_that_fails_does_not_keep_the_others(project: Project) -> None:
    project.write({**SEVERAL, "wrong.c": "int wrong(\n"})
    made = made_files(project, "commanalyzer-cc -c a.c wrong.c sub/c.c", status=1)
    assert made.keys() == {"", "a.o", "c.o"}


def test_options_of_gcc_are_left_out_with_a_warning(project: Project) -> None:
    project.write(SEVERAL)
    left_out = "-ftree-vectorizer-verbose=2 -Wlogical-op -foffload=nvptx-none -gstabs -p -static"
    linker = "-Wl,-Map,x.map -Wl,-z,muldefs -Wl,--exclude-libs,ALL"
    line = "commanalyzer-cc -O2 -Werror -Wp,-MMD,a.d -rdynamic -Wl,-z,now,--as-needed -u a -Xlinker -s"
    # twice: the answer of the compiler is kept
    for words in ("-c a.c", "-c a.c", "main.c a.o 'with space.c' sub/c.c -o prog", "a.o -shared -o a.so"):
        done = project.run(f"{line} {linker} {left_out} {words}")
        expected = f"{left_out} {'' if '-c' in words else linker}".split()
        assert done.err.startswith("commanalyzer: warning: unknown options are left out: "), done.err
        assert sorted(done.err.split(": ")[-1].split()) == sorted(expected)
    assert len(project.records("prog")) == 4
    assert (project.folder / "a.d").is_file()
    if shutil.which("gcc", path=os.defpath) is not None:  # what gcc refuses, too
        for words in ("-c a.c", "a.o -shared -o a.so"):
            assert "-fno-such-thing" in project.run(f"{line} -fno-such-thing {words}", status=1).err


@pytest.mark.parametrize("standard", ["", "-std=gnu89", "-std=gnu11"])
def test_old_c_as_gcc_accepts_it(project: Project, standard: str) -> None:
    text = 'static count; char *p = 1; main() { printf("%d\\n", square(count + 3)); exit(0); }\n'
    project.write({"old.c": f"#include <omp.h>\n{text}square(x) int x; {{ return x * x; }}\n"})
    project.run(f"commanalyzer-cc -O2 {standard} old.c -o prog")  # -O0: another runtime
    assert project.run("./prog").out == "9\n"
    assert len(project.records("prog")) == 1


def test_a_compiler_that_the_user_names_decides_itself(project: Project) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    project.write(SEVERAL)
    gcc = {"COMMANALYZER_CC": "gcc"}
    line = "commanalyzer-cc -fipa-pta -fno-schedule-insns -Wlogical-op -Werror main.c a.c sub/c.c"
    assert project.run(f"{line} 'with space.c' -o prog", extra=gcc).err == ""
    assert len(project.records("prog")) == 4
    assert "-fno-such-thing" in project.run("commanalyzer-cc -fno-such-thing -c a.c", extra=gcc, status=1).err


@pytest.mark.parametrize(
    "standard", ["c89", "gnu89", "c99", "gnu99", "c11", "gnu17", "c23", "c++98", "c++11", "gnu++20"]
)
def test_openmp_header_in_every_standard(project: Project, standard: str) -> None:
    name, wrapper = ("a.cpp", "c++") if "+" in standard else ("a.c", "cc")
    text = "#include <omp.h>\n#include <time.h>\nint main(void) { return omp_get_wtime() > 0 ? 0 : 1; }\n"
    project.write({name: text})
    line = f"commanalyzer-{wrapper} -std={standard} -pedantic-errors -Wall -Werror -fopenmp {name} -o prog"
    assert project.run(line).err == ""
    project.run("./prog")
    assert [r.name for r in project.records("prog")] == [name]


def test_options_of_the_fortran_language_hold_for_the_ir(project: Project) -> None:
    flang()
    text = "      program wide\n      real x(8)\n      x = 1\n      print *, sum(x), kind(x)\n      end\n"
    project.write({"wide.txt.F": text})
    done = project.run(
        "commanalyzer-fc -fdefault-real-8 -fmax-array-constructor=99 wide.txt.F -Wl,-s,-O1 -o prog"
    )
    assert done.err == "commanalyzer: warning: unknown options are left out: -fmax-array-constructor=99\n"
    assert project.run("./prog").out.split() == ["8.", "8"]
    assert "[8 x double]" in project.records("prog")[0].payload.decode()

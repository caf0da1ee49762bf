import shlex
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import CompileError
from commanalyzer.program.frontend.drivers.command import CompilerCommand, expand_response_files, read_command
from commanalyzer.program.frontend.drivers.wrapper import ir_options


def _read(line: str) -> CompilerCommand:
    return read_command(shlex.split(line))


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("-c a.c", "compile"),
        ("a.c b.o -o p", "link"),
        ("-shared -Wl,--whole-archive liba.a -o liba.so", "link"),
        ("-E a.c", "pass"),
        ("-S a.c", "pass"),
        ("-MM a.c", "pass"),
        ("-MMD -MF d -c a.c", "compile"),
        ("-print-file-name=libm.so", "pass"),
        ("--version", "pass"),
        ("-v", "pass"),
        ("-v a.c", "link"),
        ("-m32 -c a.c", "pass"),
        ("-target aarch64-linux-gnu -c a.c", "pass"),
        ("--target=x86_64-linux-gnu -c a.c", "compile"),
        ("-x c-header a.h", "pass"),
        ("-c a.h", "pass"),
        ("", "pass"),
    ],
)
def test_action(line: str, action: str) -> None:
    assert read_command(line.split()).action == action


def test_values_of_options_are_no_inputs() -> None:
    command = _read("-I a.c -o b.c -MF c.c -D x.c -include d.c -Xlinker e.c -Le.c f.c")
    assert [source.name for source in command.sources] == ["f.c"]
    assert command.output == "b.c"


def test_language_by_suffix_and_by_x() -> None:
    command = _read("a.c b.cc c.S d.f90 e.ll f.o -x c++ g.c - -x none h.c -xc i.o")
    inputs = [(a.name, a.language, a.explicit) for a in command.arguments if a.language]
    assert inputs == [
        *(("a.c", "c", ""), ("b.cc", "c++", ""), ("c.S", "assembler", ""), ("d.f90", "fortran", "")),
        *(("e.ll", "ir", ""), ("f.o", "object", "")),
        *(("g.c", "c++", "c++"), ("-", "c++", "c++"), ("h.c", "c", ""), ("i.o", "c", "c")),
    ]


def test_object_of_a_source() -> None:
    command = read_command(["-c", "src/a.c", "src/b.cpp"])
    assert [command.object_of(source) for source in command.sources] == [Path("a.o"), Path("b.o")]
    command = read_command(["-c", "src/a.c", "-oout/x.o"])
    assert command.object_of(command.sources[0]) == Path("out/x.o")


def test_response_files_nest_and_missing_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one").write_text("-DA='b c' @two\n\"d e.c\"")
    Path("two").write_text("-O2\n@missing")
    assert expand_response_files(["-c", "@one"]) == ["-c", "-DA=b c", "-O2", "@missing", "d e.c"]
    Path("loop").write_text("@loop")
    assert expand_response_files(["@loop"]) == ["@loop"]
    Path("open").write_text('-DA="b')
    with pytest.raises(CompileError, match="open: expected words as in a shell, found: no closing quotation"):
        expand_response_files(["@open"])


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("-DA=1 -D B -I inc -Iinc2 -isystem s -include f.h -std=c++20 -ffast-math -UX", True),
        ("-fno-exceptions -fopenmp-simd2 -Ofast -fno-math-errno -pthread -fwrapv", None),
        (
            "-O3 -g3 -march=native -mtune=native -mavx2 -flto=auto -fopenmp -Wall -Werror -MMD -MF x.d -MT y",
            False,
        ),
        (
            "-fsanitize=address --coverage -pg -fprofile-generate -fstack-protector-strong -save-temps=obj",
            False,
        ),
        (
            "-D_FORTIFY_SOURCE=2 -D _FORTIFY_SOURCE=2 -pipe -s -shared -Lx -lm -Wl,-z,now -Xlinker -z -o p",
            False,
        ),
        ("-Xclang -include-pch -Xclang x.pch", False),
    ],
)
def test_options_of_the_embedded_ir(line: str, kept: bool | None) -> None:
    found = ir_options(read_command([*line.split(), "-c", "a.c"]))
    if kept is None:
        assert found == ["-fno-exceptions", "-ffast-math", "-fno-math-errno", "-pthread", "-fwrapv"]
    else:
        assert found == (line.split() if kept else [])

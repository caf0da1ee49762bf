import re
import subprocess
import sys
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import CompileError, ConfigError, InstrumentationError, IrError
from commanalyzer.program.frontend import compile as frontend
from commanalyzer.program.frontend import toolchain
from commanalyzer.program.frontend.compile import compile_sources

MAIN = '#include <stdio.h>\nint f(int);\nint main(void) { printf("%d\\n", f(2)); return 0; }\n'
HELPER = "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n; return s; }\n"
LL_MAIN = 'target triple = "x86_64-unknown-linux-gnu"\ndefine i32 @main() {\n  ret i32 0\n}\n'


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_same_input_same_text_also_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    first = compile_sources([source], regions=["f"])
    assert compile_sources([source], regions=["f"]) == first
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "other"))
    assert compile_sources([source], regions=["f"]) == first


def test_canonical_form_has_no_switch_and_no_vectors(tmp_path: Path) -> None:
    text = """
    int pick(int n) { switch (n) { case 1: return 5; case 2: return 7; case 9: return n * n; } return 1; }
    int main(int argc, char **argv) {
      double a[64]; double s = 0;
      for (int i = 0; i < 64; i++) a[i] = i * argc;
      for (int i = 0; i < 64; i++) s += a[i];
      return pick(argc) + (int)s;
    }"""
    ir_text = compile_sources([_write(tmp_path, "a.c", text)]).ir_text
    assert "switch " not in ir_text
    assert " x double> " not in ir_text.replace("[64 x double]", "")


def test_optnone_is_lifted(tmp_path: Path) -> None:
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    ir_text = compile_sources([source], flags=["-O0"]).ir_text
    assert not [line for line in ir_text.splitlines() if line.startswith("attributes") and "optnone" in line]
    assert "alloca" not in ir_text


def test_unknown_region(tmp_path: Path) -> None:
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    with pytest.raises(ConfigError, match=r"'sweep'.*functions: f, main"):
        compile_sources([source], regions=["sweep"])


def test_compile_error_carries_the_compilers_lines(tmp_path: Path) -> None:
    source = _write(tmp_path, "a.c", "int main(void) {\n  return x;\n}\n")
    with pytest.raises(CompileError, match=r"a\.c:2:10: error: use of undeclared identifier 'x'"):
        compile_sources([source])


def test_warnings_are_log_messages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = _write(tmp_path, "a.c", "int main(void) { int unused; return 0; }\n")
    with caplog.at_level("INFO"):
        assert compile_sources([source], flags=["-Wall"]).diagnostics == ()
    (said,) = caplog.records
    assert "unused variable" in said.message and said.levelname == "INFO"  # seen with --verbose only


def test_no_main(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="main"):
        compile_sources([_write(tmp_path, "f.c", HELPER)])
    declared = _write(tmp_path, "g.c", "int main(void);\nint g(void) { return main(); }\n")
    with pytest.raises(CompileError, match="main"):
        compile_sources([declared])


def test_duplicate_symbol(tmp_path: Path) -> None:
    one, two = _write(tmp_path, "a.c", MAIN + HELPER), _write(tmp_path, "b.c", HELPER)
    with pytest.raises(IrError, match="'f' is defined twice") as caught:
        compile_sources([one, two])
    assert str(two) in caught.value.where


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.c", b"", "empty"),
        ("a.bc", b"  \n", "empty"),
        ("a.bc", bytes(range(256)), "other binary"),
        ("a.bc", b"\x7fELF\x02\x01\x01\x00" + bytes(100), "executable for x86-64"),
        ("a.bc", b"BC\xc0\xde" + bytes(100), "valid LLVM module"),
        ("a.ll", b"define i32 @main() {\n  ret i32 %x\n}\n", "undefined value"),
        ("a.ll", b'target triple = "aarch64-linux-gnu"\ndefine i32 @main() {\n ret i32 0\n}\n', "aarch64"),
        ("a.ll", b'target triple = "x86_64-apple-macosx"\ndefine i32 @main() {\n ret i32 0\n}\n', "macosx"),
        ("a.ll", b'target datalayout = "E"\ndefine i32 @main() {\n ret i32 0\n}\n', "x86-64"),
    ],
)
def test_unusable_files(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((ConfigError, IrError)) as caught:
        compile_sources([path])
    assert found in caught.value.message
    assert str(path) in caught.value.where


def test_parse_error_names_the_line(tmp_path: Path) -> None:
    path = _write(tmp_path, "a.ll", "define i32 @main() {\n  ret i64 0\n}\n")
    with pytest.raises(IrError) as caught:
        compile_sources([path])
    assert caught.value.where == f"{path}:2"
    assert "result type 'i32'" in caught.value.message


def test_a_parse_error_shows_the_place_in_a_long_line(tmp_path: Path) -> None:
    zeros = ", ".join(["i32 0"] * 3000)
    line = f"@a = global [6001 x i32] [{zeros}, i64 7, {zeros}]"
    with pytest.raises(IrError) as caught:
        compile_sources([_write(tmp_path, "a.ll", f"{LL_MAIN}{line}\n")])
    reason, quoted, caret = caught.value.message.splitlines()
    assert "not of type" in reason or "expected" in reason
    assert max(map(len, (reason, quoted, caret))) < 300
    assert caret.strip() == "^"
    assert quoted in line


def test_lines_of_a_message_are_cut() -> None:
    error = IrError("found:\n" + "x" * 30_000)
    assert str(error) == f"found:\n{'x' * 200} [29600 characters] {'x' * 200}"


SIZE = "ptrtoint (ptr getelementptr ({}, ptr null, i32 1) to i64)"


@pytest.mark.parametrize(
    ("type_", "product", "size"),
    [
        ("i8", f"mul (i64 {SIZE}, i64 12)", 12),
        ("{ ptr, [2 x i64] }", f"mul nuw nsw (i64 {SIZE}, i64 3)", 72),
        ("%pair", f"mul (i64 {SIZE}, i64 -1)".replace("i32 1", "i64 2"), -32),
        ('%"a (b)"', f"mul (i64 mul (i64 {SIZE}, i64 5), i64 2)", 80),
    ],
)
def test_products_of_sizes_of_older_compilers(tmp_path: Path, type_: str, product: str, size: int) -> None:
    types = '%pair = type { i64, i64 }\n%"a (b)" = type { i64 }\n'
    main = "define i64 @main() {\n  %v = load volatile i64, ptr @size\n  ret i64 %v\n}\n"
    size_variable = f"@size = global i64 {product.replace('{}', type_)}"
    text = compile_sources([_write(tmp_path, "a.ll", f"{types}{size_variable}\n{main}")]).ir_text
    assert re.search(rf"^@size = .*global i64 {size}\b", text, re.MULTILINE)


@pytest.mark.parametrize("mark", ["@__ca_instrumented = global i32 1\n", "!__ca_instrumented = !{}\n"])
def test_instrumented_modules_are_refused(tmp_path: Path, mark: str) -> None:
    with pytest.raises(InstrumentationError, match="already instrumented"):
        compile_sources([_write(tmp_path, "a.ll", LL_MAIN + mark)])


def test_integers_that_code_generation_does_not_survive_are_refused(tmp_path: Path) -> None:
    body = "  %p = alloca i8388607\n  %v = load volatile i8388607, ptr %p\n  %w = sdiv i8388607 %v, 7\n"
    text = LL_MAIN.replace("  ret", f"{body}  store volatile i8388607 %w, ptr %p\n  ret")
    with pytest.raises(IrError, match="i8388607"):
        compile_sources([_write(tmp_path, "wide.ll", text)])
    named = LL_MAIN.replace("  ret", "  %i8388607 = alloca i128\n  ret")
    assert compile_sources([_write(tmp_path, "named.ll", named)])


def test_truncated_bitcode_never_takes_us_down(tmp_path: Path) -> None:
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    driver = compile_sources([source]).toolchain
    whole = tmp_path / "whole.bc"
    subprocess.run([*driver.cc, "-g", "-emit-llvm", "-c", str(source), "-o", str(whole)], check=True)
    data = whole.read_bytes()
    damaged = tmp_path / "damaged.bc"
    for part in (0.3, 0.6, 0.9):
        damaged.write_bytes(data[: int(part * len(data))])
        with pytest.raises(IrError):
            compile_sources([damaged])


def test_a_crash_of_the_child_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "_PACKAGE_PARENT", tmp_path / "nowhere")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(IrError, match="ended with status 1"):
        compile_sources([_write(tmp_path, "a.ll", LL_MAIN)])


def test_missing_and_unknown_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        compile_sources([tmp_path / "none.c"])
    with pytest.raises(ConfigError, match=r"'\.pas'"):
        compile_sources([_write(tmp_path, "a.pas", "end\n")])
    with pytest.raises(ConfigError, match="at least one"):
        compile_sources([])


def test_users_directory_cannot_shadow_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "json.py", "raise SystemExit('shadowed')\n")
    _write(tmp_path, "llvmlite.py", "raise SystemExit('shadowed')\n")
    monkeypatch.chdir(tmp_path)
    assert "@main" in compile_sources([_write(tmp_path, "a.ll", LL_MAIN)]).ir_text


def test_gcc_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = _write(tmp_path, "gcc", '#!/bin/sh\necho "gcc (Debian) 12.2.0"\n')
    fake.chmod(0o755)
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    with pytest.raises(CompileError, match="clang") as caught:
        compile_sources([source], compiler=str(fake))
    assert caught.value.where == "--cc"
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(CompileError) as caught:
        compile_sources([source])
    assert caught.value.where == "CC"
    assert "unset CC" in caught.value.hint


def test_unknown_and_too_new_compilers(tmp_path: Path) -> None:
    source = _write(tmp_path, "a.c", MAIN + HELPER)
    with pytest.raises(CompileError, match="'no-such-cc'"):
        compile_sources([source], compiler="no-such-cc")
    new = _write(tmp_path, "clang-99", '#!/bin/sh\necho "clang version 99.0.0"\n')
    new.chmod(0o755)
    with pytest.raises(CompileError, match="22 or older"):
        compile_sources([source], compiler=str(new))


def test_bundled_compiler_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain._bundled_version.cache_clear()
    for name in ("HOME", "XDG_CACHE_HOME", "ZIG_GLOBAL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CompileError, match="to work, found: error") as error:
        compile_sources([_write(tmp_path, "a.c", MAIN + HELPER)])
    assert "ZIG_GLOBAL_CACHE_DIR" in error.value.hint

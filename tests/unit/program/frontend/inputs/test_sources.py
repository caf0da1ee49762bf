from pathlib import Path

import pytest

from commanalyzer.program.frontend.inputs import sources
from commanalyzer.program.frontend.inputs.sources import SourceCompiler
from commanalyzer.program.frontend.toolchain import bundled_toolchain

TEXT = '#include "size.h"\n#define HALF(x) ((x) / 2)\nint size(void) { int unused; return HALF(SIZE); }\n'


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Sources that the compiler was started for."""
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "cache"))
    found: list[Path] = []
    original = sources._compiled

    def counted(command: list[str], source: Path, module: Path) -> str:
        found.append(source)
        return original(command, source, module)

    monkeypatch.setattr(sources, "_compiled", counted)
    return found


def _compile(folder: Path, *flags: str) -> tuple[bytes, str]:
    source, module = folder / "size.c", folder / "module.bc"
    warnings = SourceCompiler(bundled_toolchain(), flags).compile(source, "c", module)
    return module.read_bytes(), warnings


def _program(folder: Path) -> Path:
    (folder / "later").mkdir()
    (folder / "later" / "size.h").write_text("#define SIZE 8\n")
    (folder / "size.c").write_text(TEXT)
    return folder


def test_unchanged_source_is_not_compiled_again(tmp_path: Path, compiled: list[Path]) -> None:
    folder = _program(tmp_path)
    first = _compile(folder, "-Wall", "-Ilater", f"-I{folder}/later")
    assert "unused variable" in first[1]
    assert _compile(folder, "-Wall", "-Ilater", f"-I{folder}/later") == first
    assert compiled == [folder / "size.c"]


def test_changes_of_headers_flags_and_sources_are_seen(tmp_path: Path, compiled: list[Path]) -> None:
    folder = _program(tmp_path)
    include = f"-I{folder}/later"
    modules = [_compile(folder, include)[0]]
    (folder / "later" / "size.h").write_text("#define SIZE 10\n")
    modules.append(_compile(folder, include)[0])
    (folder / "size.h").write_text("#define SIZE 12\n")  # found before the other one
    modules.append(_compile(folder, include)[0])
    modules.append(_compile(folder, include, "-DHALF2")[0])
    (folder / "size.c").write_text(TEXT.replace("/ 2", "/ 4"))
    modules.append(_compile(folder, include)[0])
    assert len(compiled) == 5
    assert len(set(modules)) == 4  # a macro that is not used changes nothing


@pytest.mark.parametrize(
    "flag", ["-march=native", "-fprofile-use=runs", "-fplugin=p.so", "@flags", "-Xclang"]
)
def test_flags_that_hide_inputs_are_not_trusted(flag: str) -> None:
    assert sources._HIDES_INPUTS.match(flag)


@pytest.mark.parametrize("flag", ["-std=c++17", "-ffast-math", "-ffp-contract=fast", "-Ia=native/x", "-DX=1"])
def test_usual_flags_are_trusted(flag: str) -> None:
    assert not sources._HIDES_INPUTS.match(flag)


def test_assembler_code_may_read_files(tmp_path: Path, compiled: list[Path]) -> None:
    folder = _program(tmp_path)
    included = folder / "later" / "size.h"
    (folder / "size.h").write_text(f'#define SIZE 8\n__asm__(".incbin \\"{included}\\"");\n')
    _compile(folder)
    _compile(folder)
    assert len(compiled) == 2


@pytest.mark.parametrize("name", ["a:b.c", "a\\b.c", "a\nb.c", "-a.c", "ü.c"])
def test_sources_of_any_name(compiled: list[Path], tmp_path: Path, name: str) -> None:
    source, module = tmp_path / name, tmp_path / "module.bc"
    source.write_text('#include "near.h"\nint f(void) { return NEAR; }\n')
    (tmp_path / "near.h").write_text("#define NEAR 1\n")
    SourceCompiler(bundled_toolchain(), ()).compile(source, "c", module)
    assert name.encode() in module.read_bytes()  # where its lines are

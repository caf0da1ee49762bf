import time
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import RuntimeBuildError
from commanalyzer.program.frontend.link import BuildTimeoutError, build_executable, build_object
from commanalyzer.program.frontend.toolchain import find_toolchain, run_tool
from commanalyzer.recording.runtime import run_target


@pytest.fixture(autouse=True)
def _no_user_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)


def test_objects_are_linked_in_and_part_of_the_key(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    main = tmp_path / "main.c"
    main.write_text("int f(void);\nint main(void) { return f(); }\n")
    results = []
    for value in (5, 6):
        helper = tmp_path / "f.c"
        helper.write_text(f"int f(void) {{ return {value}; }}\n")
        built = build_object(helper, toolchain=toolchain)
        executable = build_executable([main, built], toolchain=toolchain)
        results.append(run_target(executable).exit_status)
    assert results == [5, 6]


def test_changed_header_rebuilds(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    header, source = tmp_path / "n.h", tmp_path / "n.c"
    source.write_text('#include "n.h"\nint n = N;\n')
    built = []
    for value in (1, 2):
        header.write_text(f"#define N {value}\n")
        built.append(build_object(source, toolchain=toolchain, depends_on=[header]))
    assert built[0] != built[1]


def test_missing_symbol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "cache"))
    module = tmp_path / "program.ll"
    text = "declare i32 @nowhere()\ndefine i32 @main() {\n  %r = call i32 @nowhere()\n  ret i32 %r\n}\n"
    module.write_text(text)
    with pytest.raises(RuntimeBuildError, match="undefined symbol: nowhere") as caught:
        build_executable([module], toolchain=find_toolchain())
    assert "--ldflags" in caught.value.hint
    assert not any(path.is_file() for path in (tmp_path / "cache").rglob("*"))


def test_what_takes_too_long_is_ended_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMANALYZER_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "f.c"
    source.write_text("int f(void) { return 1; }\n")
    with pytest.raises(BuildTimeoutError, match="within 0 s"):
        build_object(source, toolchain=find_toolchain(), timeout_s=0.001)
    mark = tmp_path / "mark"
    command = ["sh", "-c", f"(sleep 1; touch {mark}) & wait"]
    assert run_tool(command, timeout_s=0.2).exit_status is None
    time.sleep(1.2)
    assert not mark.exists()

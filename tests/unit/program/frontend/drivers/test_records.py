import struct
from pathlib import Path

import pytest

from commanalyzer.foundation.errors import CompileError, ConfigError
from commanalyzer.program.frontend.drivers import embedded
from commanalyzer.program.frontend.drivers.command import find_underlying, named_compiler
from commanalyzer.program.frontend.drivers.embedded import SECTION, Record, decode_records, encode_records
from commanalyzer.program.frontend.drivers.wrapper import has_all_records

RECORDS = (
    Record("module", "a.c", "c", payload=b"BC" * 500),
    Record("object", "b.s", "assembler", note="assembly", payload=b"\x7fELF"),
    Record("link", "prog", "c++", ("clang", "-v"), ("-lm", "-L/x y"), ""),
)


def test_records_survive_concatenation_and_padding() -> None:
    parts = [record.encoded() for record in RECORDS]
    content = parts[0] + bytes(7) + parts[1] + parts[2] + bytes(100)
    assert decode_records(content, "prog") == RECORDS
    assert encode_records(RECORDS) == b"".join(parts)
    assert len(parts[0]) < 300
    assert decode_records(b"", "prog") == ()


@pytest.mark.parametrize("damage", [b"x", b"CMNLYZR1", b"CMNLYZR1" + struct.pack("<II", 99, 99) + b"{}"])
def test_damaged_records_are_refused(damage: bytes) -> None:
    with pytest.raises(ConfigError, match="found other data") as caught:
        decode_records(RECORDS[0].encoded() + damage, "prog")
    assert caught.value.where == "prog"


def test_carrier_has_the_section_and_asks_for_no_executable_stack() -> None:
    elf = embedded.parse_elf(embedded.carrier(SECTION, b"content"))
    assert elf is not None
    assert elf.content(SECTION) == b"content"
    names = ("", ".shstrtab", ".note.GNU-stack", SECTION)
    assert [(s.name, s.flags) for s in elf.sections] == [(name, 0) for name in names]


def test_a_section_is_added_and_everything_else_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(embedded.carrier("first", b"1"))
    path.chmod(0o640)
    before = embedded.read_elf(path)
    assert embedded.add_section(path, "second", b"22")
    after = embedded.read_elf(path)
    assert before is not None
    assert after is not None
    assert (after.content("first"), after.content("second")) == (b"1", b"22")
    assert after.data[64 : len(before.data)] == before.data[64:]
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.o"]


def test_what_is_no_object_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.o"
    for data in (b"BC\xc0\xde", b"", b"\x7fELF\x02\x01\x01", embedded.carrier("x", b"")[:70]):
        path.write_bytes(data)
        assert not embedded.add_section(path, "second", b"22")
        assert path.read_bytes() == data
    executable = bytearray(embedded.carrier("x", b""))
    executable[16] = 2
    elf = embedded.parse_elf(bytes(executable))
    assert elf is not None
    with pytest.raises(ConfigError, match="expected an object file"):
        embedded.with_section(elf, "second", b"")


def _archive(*members: bytes) -> bytes:
    heads = [
        f"{f'm{i}.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(m):<10}`\n".encode() for i, m in enumerate(members)
    ]
    bodies = [head + m + b"\n" * (len(m) % 2) for head, m in zip(heads, members, strict=True)]
    return b"!<arch>\n" + b"".join(bodies)


def test_archives_of_recorded_objects(tmp_path: Path) -> None:
    path = tmp_path / "lib.a"
    own, foreign = embedded.carrier(SECTION, b"odd"), embedded.carrier("other", b"")
    for members, complete in (
        ((own, own), True),
        ((b"index", own), True),
        ((own, foreign), False),
        ((), False),
    ):
        path.write_bytes(_archive(*members))
        assert has_all_records(path) is complete


def test_compilers_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("clang-19", "clang++-19", "gcc", "g++", "ccache"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "commanalyzer-cc")
    monkeypatch.delenv("COMMANALYZER_CXX", raising=False)
    monkeypatch.delenv("COMMANALYZER_CC", raising=False)
    assert find_underlying("c").bundled
    monkeypatch.setenv("COMMANALYZER_CC", "ccache clang-19")
    assert find_underlying("c").command == ("ccache", "clang-19")
    assert find_underlying("c").ir_command == ("ccache", "clang-19", "-march=x86-64")
    assert named_compiler("c++") == ("ccache", "clang++-19")
    monkeypatch.setenv("COMMANALYZER_CC", "gcc")
    gcc = find_underlying("c++")
    assert (gcc.command, gcc.analysis) == (("g++",), ())
    assert Path(gcc.ir_command[0]).name == "zig"
    monkeypatch.setenv("COMMANALYZER_CXX", "nothing")
    with pytest.raises(CompileError, match="found no program named 'nothing'"):
        find_underlying("c++")

"""Sizes, offsets and constants of the C header against ``commanalyzer.recording.abi``."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from commanalyzer.program.frontend.toolchain import shim_directory
from commanalyzer.program.ir.model import Module
from commanalyzer.recording import abi
from tests.shim.conftest import compile_c

_RECORDS: dict[str, np.dtype[np.void]] = {
    f"ca_{name.lower()}": getattr(abi, name)
    for name in ("CELL", "HEAD", "GROUP", "RUN", "COPY", "EXTENT", "WORKSPACE", "PIECE", "STATISTICS")
}
_RECORDS["ca_trace_header"] = abi.HEADER
_SAME_NAMES = """
ABI_VERSION EXACT ADDRESS CONTROL EXACT_SMALL TRACE_MAGIC
ROW_WIDE ROW_FILL ROW_REGISTER ROW_TEMPORARY ROW_UPDATE ROW_FAMILY ROW_COMPACT
COMPACT_BITS COMPACT_FIRST FAMILY_SUM NOTHING
ORDER_INSIDE ORDER_OUTSIDE ORDER_EARLIER ORDER_VERSIONS
EXTENT_GLOBAL EXTENT_HEAP EXTENT_STACK EXTENT_PART EXTENT_BLOCK
"""
_CONSTANTS: dict[str, int] = {
    **{f"CA_{name}": getattr(abi, name) for name in _SAME_NAMES.split()},
    "CA_REG": abi.REGISTER,
    "CA_ADDRESS_MASK / CA_WORD_BYTES": abi.WORD_MASK,
    "CA_NUM_SECTIONS": len(abi.SECTIONS),
}


def _expected() -> dict[str, int]:
    """Expression in C -> number, from the Python side."""
    expected = dict(_CONSTANTS)
    for name, record in _RECORDS.items():
        expected[f"sizeof(struct {name})"] = record.itemsize
        assert record.fields is not None
        for field, entry in record.fields.items():
            expected[f"offsetof(struct {name}, {field})"] = entry[1]
            expected[f"sizeof(((struct {name} *)0)->{field})"] = entry[0].itemsize
    return expected


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The same expressions, printed by a compiled program."""
    folder = tmp_path_factory.mktemp("probe")
    lines = [f'  printf("%s=%llu\\n", "{e}", (unsigned long long)({e}));' for e in _expected()]
    text = "#include <comm_shim.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
    source, program = folder / "probe.c", folder / "probe"
    source.write_text(text + "\n".join(lines) + "\n}\n")
    compile_c("-std=c11", "-O2", "-fno-sanitize=all", str(source), "-o", str(program))
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60)
    pairs = (line.rpartition("=") for line in done.stdout.splitlines())
    return {name: int(number) for name, _, number in pairs}


def test_records_and_constants_agree(measured: dict[str, int]) -> None:
    assert measured == _expected()


def test_columns_of_plain_numbers_have_the_width_the_shim_writes() -> None:
    plain = {name: dtype.itemsize for name, dtype in abi.SECTIONS if dtype.fields is None}
    counted = {"block_counters": 8, "external_calls": 8}
    assert plain == {"labels": 4, "listed": 8, **counted, "order": 4}


def test_header_can_be_included_from_c_plus_plus(tmp_path: Path) -> None:
    source = tmp_path / "probe.cpp"
    source.write_text("#include <comm_shim.h>\nint size = sizeof(ca_extent);\n")
    compile_c("-x", "c++", "-c", str(source), "-o", str(tmp_path / "probe.o"))


def test_storage_that_the_instrumenter_allocates_is_large_enough(tmp_path: Path) -> None:
    accumulators = shim_directory() / "src" / "accumulators.c"
    source = tmp_path / "probe.c"
    source.write_text(
        f'#include "{accumulators}"\n'
        f'_Static_assert(sizeof(struct ca_accumulator) == {abi.ACCUMULATOR_BYTES}, "recording/abi.py");\n'
    )
    compile_c("-std=gnu11", "-c", str(source), "-o", str(tmp_path / "probe.o"))


def test_shared_arrays_have_the_size_the_instrumenter_assumes(shim_modules: dict[str, Module]) -> None:
    sizes = {g.name: g.type.count for m in shim_modules.values() for g in m.globals if not g.is_external}
    assert sizes["@ca_arguments"] == abi.MAX_CALL_ARGUMENTS
    # a multiplier per label, and two more for site and sink
    assert sizes["@ca_multipliers"] >= abi.MAX_LABELS + 2

"""What reaches what through each construct of C, derived by hand: one program, one case per construct."""

import re
from pathlib import Path

import pytest

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.recording.interpreter.values import Home
from tests.recorded import Recorded, record_file
from tests.reference.flows import native_chains
from tests.unit.recording.instrument.test_recorded_chains import sources_of

PROGRAM = Path(__file__).parent / "programs" / "constructs.c"


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return record_file(PROGRAM)


def test_output_and_status_are_those_of_the_plain_program(recorded: Recorded) -> None:
    assert len(recorded.plain.stdout.splitlines()) == 2
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status == 0


def doubles(name: str, *indices: int) -> set[str]:
    return {f"@{name}+{8 * i}" for i in indices}


def words(name: str, *indices: int) -> set[str]:
    return {f"@{name}+{4 * i}" for i in indices}


CASES = {
    "va_arg in registers": ("@out+0", doubles("a", 0, 2, 4)),
    "va_arg skips arguments": ("@out+8", doubles("a", 6)),
    "va_arg on the stack": ("@out+16", doubles("a", 10)),
    "va_arg integer": ("@iout+0", words("k", 2)),
    "va_arg integer on the stack": ("@iout+4", words("k", 7)),
    "va_arg expression": ("@iout+8", words("k", 4, 5)),
    "va_arg constant": ("@iout+12", set()),
    "va_arg mixed: int": ("@out+80", words("k", 8)),
    "va_arg mixed: double": ("@out+88", doubles("a", 12)),
    "va_arg mixed: long double": ("@out+96", {"@ld+16"}),
    "va_arg mixed: struct": ("@out+104", doubles("s", 2)),
    "va_arg mixed: long": ("@out+112", doubles("l", 3)),
    "va_list passed on": ("@out+24", doubles("a", 13)),
    "byval parameter read": ("@out+32", doubles("s", 3)),
    "byval parameter written": ("@out+120", {"@s+0", "@s+16", "@a+112"}),
    "variable-length array read": ("@out+40", {"@other_open_array+0", "@other_open_array+8"}),
    "variable-length array written": ("@other_open_array+8", doubles("a", 21)),
    "another variable-length array": ("@a+152", {"@open_array+0"}),
    "union: integer bits of a double": ("@out+48", doubles("a", 1)),
    "union: second float": ("@out+56", words("f", 2)),
    "memcpy type punning": ("@out+64", doubles("a", 3)),
    "one-byte store": ("@bytes+4", {"@bytes+8"}),
    "two-byte store": ("@shorts+4", {"@shorts+8"}),
    "copied bytes": ("@iout+16", {"@bytes+4"}),
    "long double": ("@lout+0", {"@ld+0"}),
    "__int128": ("@wout+0", {"@wide+0", "@wide+16"}),
    "half": ("@hout+0", {"@half+4"}),
    "atomic add": ("@counter+0", {"@k+4"}),
    "atomic load": ("@out+72", {"@level+0"}),
    "atomic exchange": ("@iout+24", {"@counter+0"}),
    "volatile struct copy": ("@out+128", {"@vp+8"}),
    "setjmp and longjmp": ("@out+136", doubles("a", 9)),
    "computed goto": ("@iout+28", words("k", 3)),
    "switch": ("@iout+32", words("k", 4, 5)),
    "weak variable": ("@weak_value+0", doubles("a", 11)),
    "alias": ("@out+152", {"@aliased_target+0"}),
    "global constructor": ("@out+160", {"@early+0", "@a+104"}),
    "powi": ("@out+176", doubles("a", 14)),
    "FENV_ACCESS": ("@out+192", doubles("a", 15, 16)),
    "realloc of a struct": ("@out+184", doubles("s", 1)),
}


def _name(home: Home) -> str:
    """Home without the register that the compiler numbered: local arrays are named by their function."""
    return re.sub(r"/%[\w.]+", "", str(home))


@pytest.mark.parametrize("construct", sorted(CASES))
def test_construct(recorded: Recorded, construct: str) -> None:
    sink, expected = CASES[construct]
    chains = [c for c in native_chains(recorded.graph) if _name(c.sink) == sink]
    found = [{_name(s) for s, role in c.sources if role is SourceRole.DATA} for c in chains]
    assert expected in found, found


def test_inline_assembly_is_counted(recorded: Recorded) -> None:
    assert "inline assembly" in recorded.plan.sites.externals


def test_copies_between_unequal_alignments_are_counted(recorded: Recorded) -> None:
    assert recorded.statistics.unaligned_copies == 1
    assert sources_of(recorded.graph, "@iout+20") == [{("@moved+8", SourceRole.DATA)}]

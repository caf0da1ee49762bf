"""Loops in the styles of public codes, met for the first time: recorded as hooks would record them."""

import pytest

from tests.native import ROOT
from tests.property.test_flows import check
from tests.recorded import record_file

# Program and arguments: small, as the interpreter goes through every instruction.
PROGRAMS = {
    "workloads/kernels/blocked.c": "12 6",  # copied tiles, products that add up in memory
    "bench/foreign/smith_waterman.c": "20 2",  # rows by pointers, single bytes
    "bench/foreign/edit_distance.c": "20 2",  # rows that take turns, single bytes
    "bench/foreign/cholesky.c": "20",  # in place, terms of growing number
    "bench/foreign/multigrid_stride.c": "4 1",  # strides of 4, 2 and 1
    "bench/foreign/thomas.c": "8 2",  # there and back
    "workloads/kernels/seidel2d.c": "8 3",  # reads what it has just stored
    "bench/foreign/particles.cpp": "40 12",  # members of several widths, places that are computed
    "workloads/kernels/mv_sum.c": "10 8",  # two sums at once, arrays of one pool
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_chains_are_those_of_the_interpreter(name: str) -> None:
    arguments = PROGRAMS[name].split()
    check(name, record_file(ROOT / name, *arguments), *arguments)

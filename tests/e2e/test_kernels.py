"""The kernels of ``workloads/kernels``: what is found against their plain divisions, and the names of arrays.

What is missed today is listed in ``kernels.toml`` and expected to fail; what becomes right is taken off.
"""

import statistics
from functools import cache

import pytest
from _pytest.mark import ParameterSet

import commanalyzer as ca
from tests.e2e.analysed import flang
from tests.kernels.plain import counted_at_plain
from tests.kernels.run import Run, missing_arrays, run
from tests.kernels.table import NODES as ALL_NODES
from tests.kernels.table import Kernel, kernels

NODES = (4, 16)
MOST = 1.1  # times the bytes of the plain division
MEDIAN = 1.0
SMALLEST = 0  # of the three sizes
# One of each kind and of every language; the others are `extended`.
SAMPLE = frozenset(["bicg", "lu", "jacobi2d", "tridiagonal", "histogram", "bfs", "quadtree", "randomcsr"])


def _require_compiler(kernel: Kernel, least_flang: int = 0) -> None:
    if kernel.source.suffix == ".f90":
        found = flang()
        if found.major < least_flang:
            pytest.skip(f"needs flang {least_flang}, found {found.version}")


@cache
def _run(kernel: Kernel) -> Run:
    _require_compiler(kernel)
    return run(kernel, SMALLEST, NODES)


def _cases(what: str) -> list[ParameterSet]:
    """A test for each kernel; ``what`` names the list of those that miss it."""
    cases: list[ParameterSet] = []
    for kernel in kernels():
        marks: list[pytest.MarkDecorator | pytest.Mark] = []
        if kernel.slow or kernel.name not in SAMPLE:
            marks.append(pytest.mark.slow if kernel.slow else pytest.mark.extended)
        if what in kernel.missed:
            marks.append(pytest.mark.xfail(reason=kernel.missed[what], strict=True))
        cases.append(pytest.param(kernel, id=kernel.name, marks=marks))
    return cases


@pytest.mark.parametrize("kernel", _cases("volume"))
def test_no_kernel_sends_much_more_than_its_plain_division(kernel: Kernel) -> None:
    found = _run(kernel).found
    ratios = {f.nodes: f.ratio for f in found}
    assert max(ratios.values()) <= MOST, ratios
    least = {f.nodes: kernel.least(SMALLEST, f.nodes) for f in found}
    assert all(f.found_bytes >= least[f.nodes] for f in found), (found, least)


@pytest.mark.parametrize("name", ["scratchrow", "transposed", "intpaths"])
def test_kernels_of_each_kind_reach_their_plain_divisions_on_every_number_of_nodes(name: str) -> None:
    """A scratch row that is copied back, a matrix that is read both ways, whole numbers."""
    kernel = next(k for k in kernels() if k.name == name)
    found = run(kernel, SMALLEST, tuple(set(ALL_NODES) - set(NODES))).found
    assert {f.nodes: f.ratio for f in found if f.ratio > 1.05} == {}


def test_what_guesses_do_not_see_does_not_hide_a_regular_division() -> None:
    """Blocks are solved in local arrays: to cut the five unknowns of a point seems to send nothing."""
    kernel = next(k for k in kernels() if k.name == "ssor")
    given = (kernel.source, list(map(str, kernel.sizes[SMALLEST])))
    found = ca.analyze(*given, nodes=2, regions=["kernel"], program_output="discard").decomposition(2)
    assert found.method.startswith("blocks")
    assert found.comm_bytes == kernel.plain(SMALLEST, 2)[0]


@pytest.mark.parametrize(("name", "sizes"), [("fdtd2d", "24 24"), ("box2d", "32 32"), ("randomcsr", "600 6")])
def test_one_more_iteration_hardly_changes_what_an_iteration_sends(name: str, sizes: str) -> None:
    kernel = next(k for k in kernels() if k.name == name)
    sent = []
    for steps in (3, 4):
        given = (kernel.source, [*sizes.split(), steps])
        result = ca.analyze(*given, nodes=4, regions=["kernel"], program_output="discard", jobs=1)
        sent.append(result.best(4).comm_bytes / steps)
    assert max(sent) <= 1.25 * min(sent), sent


@pytest.mark.parametrize("kernel", _cases("names"))
def test_all_arrays_have_their_names_lines_and_sizes(kernel: Kernel) -> None:
    _require_compiler(kernel, kernel.flang)
    objects = _run(kernel).objects
    assert missing_arrays(kernel, SMALLEST, objects) == [], [(o.name, o.line, o.size_bytes) for o in objects]


@pytest.mark.slow  # of processor time, which depends on the machine and on what is compiled already
@pytest.mark.parametrize("kernel", _cases("budget"))
def test_dividing_stays_within_its_budget(kernel: Kernel) -> None:
    done = _run(kernel)
    assert done.within_budget, (done.graph_s, done.divide_s)


@pytest.mark.extended
def test_half_of_the_kernels_send_no_more_than_their_plain_divisions() -> None:
    ratios = [f.ratio for kernel in kernels() if not kernel.slow for f in _run(kernel).found]
    assert statistics.median(ratios) <= MEDIAN


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [pytest.param(k, id=k.name) for k in kernels() if not k.unchecked])
def test_formulas_are_what_is_counted_at_plain_divisions(kernel: Kernel) -> None:
    _require_compiler(kernel)
    for nodes in NODES:
        plain, grid = kernel.plain(SMALLEST, nodes)
        assert plain in counted_at_plain(kernel, SMALLEST, nodes), (nodes, grid)


def test_the_sample_has_kernels_that_exist() -> None:
    assert {kernel.name for kernel in kernels() if not kernel.slow} >= SAMPLE


def test_lines_of_arrays_are_unique() -> None:
    for kernel in kernels():
        assert all(kernel.line(array) for array in kernel.arrays), kernel.name

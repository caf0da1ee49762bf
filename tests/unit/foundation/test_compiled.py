"""Compiled kernels where their machine code cannot be kept."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
from commanalyzer.foundation.compiled import compiled

@compiled
def twice(x):
    return 2 * x

print(twice(21))
"""


def run_in(folder: Path, *words: str, begin: Callable[[], None] | None = None) -> str:
    """What Python prints in ``folder``, where machine code is kept, too; ``begin`` is called first."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, preexec_fn=begin,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_does_not_end_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    limits = resource.RLIMIT_FSIZE, (100, 100)  # which would cut the package's byte code, too: -B
    assert run_in(tmp_path, "-B", "program.py", begin=lambda: resource.setrlimit(*limits)) == "42\n"
    assert list((tmp_path / "cache").rglob("*.nbc")) == []


USER = """
from commanalyzer.foundation.compiled import compiled
from used import FACTOR, double, pair

@compiled
def scaled(p):
    return FACTOR * double(p.x)

print(scaled(pair))
"""
USED = """
from collections import namedtuple
from commanalyzer.foundation.compiled import compiled

pair = namedtuple("{name}", "{fields}")(1, 7)
{name} = type(pair)
FACTOR = {factor}

@compiled
def double(x):
    return {result}
"""


def test_machine_code_is_made_again_when_a_kernel_that_it_calls_changes(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)

    def run(factor: int, result: str, name: str = "Pair", fields: str = "x y") -> str:
        content = USED.format(factor=factor, result=result, name=name, fields=fields)
        (tmp_path / "used.py").write_text(content)
        return run_in(tmp_path, "-B", "user.py").strip()

    assert run(3, "2 * x") == "6"
    assert run(3, "4 * x") == "12"
    assert run(5, "4 * x") == "20"
    assert run(5, "4 * x", fields="y x") == "140"
    assert run(5, "4 * x", name="Two") == "20"


KERNELS = """
from commanalyzer.foundation.compiled import compiled_in_place

@compiled_in_place
def _after(x, at):
    return at + x[at]

@compiled_in_place
def follow(x, steps):
    at = 0
    for _ in range(steps):
        at = _after(x, at)
    return at
"""


def test_kernels_of_kernels_are_compiled_once_and_python_may_call_them(tmp_path: Path) -> None:
    (tmp_path / "way_kernels.py").write_text(KERNELS)
    program = "import numpy as np; from way_kernels import _after, follow; x = np.array([2, 0, 1, 4]); "
    program += "print(follow(x, 2), len(_after.signatures), _after(x, 3))"
    for _ in range(2):  # the second time from the cache: what is cached needs no kernel of a kernel
        assert run_in(tmp_path, "-c", program) in ("3 1 7\n", "3 0 7\n")


def test_two_processes_compile_a_kernel_once(tmp_path: Path) -> None:
    (tmp_path / "way_kernels.py").write_text(KERNELS)
    program = "from way_kernels import *; follow((1, 0), 2); print(len(follow.stats.cache_misses))"
    with ThreadPoolExecutor(2) as both:
        done = both.map(lambda _: run_in(tmp_path, "-c", program), range(2))
    assert sorted(done) == ["0\n", "1\n"]


def test_machine_code_serves_all_places_where_a_module_is_installed(tmp_path: Path) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); from way_kernels import *; follow((1, 0), 2)"
    misses = []
    for place in ("checkout", "installed"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "way_kernels.py").write_text(KERNELS)
        misses.append(run_in(tmp_path, "-c", f"{program}; print(len(follow.stats.cache_misses))", place))
    assert misses == ["1\n", "0\n"]


PREFETCHING = """
import numpy as np
from commanalyzer.foundation.compiled import compiled_in_place, frozen, prefetch

@compiled_in_place
def sum_of(table, place):
    total = 0
    for i in range(len(place)):
        prefetch(table, place[i] + 1 - 2 * i)  # may lie outside
        prefetch(place, i)
        total += table[place[i], 1]
    return total

place = frozen(np.array([4, 0, 1]), np.int32)
print(sum_of(np.arange(10).reshape(5, 2), place), "llvm.prefetch" in str(sum_of.inspect_llvm()))
"""


def test_prefetching_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PREFETCHING)
    assert run_in(tmp_path, "program.py") == "13 True\n"

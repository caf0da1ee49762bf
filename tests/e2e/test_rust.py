"""Rust through ``rustc --emit=llvm-bc``: linked with Rust's own libraries, the allocator in C."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import commanalyzer as ca
from commanalyzer.graph.value_graph import HomeKind

RUSTC = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
if RUSTC is None:
    pytest.skip("no rustc", allow_module_level=True)
SOURCE = Path(__file__).parent / "rust" / "heat.rs"
N, STEPS, PARTS = 64, 10, 4
# ruff: noqa: E501
# What rustc writes itself when it links: the default allocator, under names with a hash of the compiler.
ALLOCATOR = {
    "__rust_alloc": "void *rust_alloc(size_t n, size_t a) { return a <= 16 ? malloc(n) : aligned_alloc(a, n); }",
    "__rust_alloc_zeroed": "void *rust_alloc_zeroed(size_t n, size_t a) { (void)a; return calloc(n, 1); }",
    "__rust_dealloc": "void rust_dealloc(void *p, size_t n, size_t a) { (void)n; (void)a; free(p); }",
    "__rust_realloc": (
        "void *rust_realloc(void *p, size_t o, size_t a, size_t n) { (void)o; (void)a; return realloc(p, n); }"
    ),
    "__rust_no_alloc_shim_is_unstable_v2": "void rust_no_alloc_shim_is_unstable_v2(void) {}",
    "__rust_alloc_error_handler_should_panic_v2": (
        "unsigned char rust_alloc_error_handler_should_panic_v2(void) { return 0; }"
    ),
}
CRATES = (
    *("std", "panic_abort", "alloc", "core", "compiler_builtins", "object", "memchr", "addr2line", "gimli"),
    *("cfg_if", "rustc_demangle", "std_detect", "hashbrown", "rustc_std_workspace_alloc", "miniz_oxide"),
    *("adler2", "unwind", "libc", "rustc_std_workspace_core"),
)


def rustc(*arguments: object) -> str:
    done = subprocess.run([str(RUSTC), *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def allocator(prefix: str) -> str:
    lines = ["#include <stdlib.h>"]
    for name, body in ALLOCATOR.items():
        lines += [f'{body.split(" {")[0]} __asm__("{prefix}{len(name)}_{name}");', body]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[str], str]:
    """Sources, linker flags, and the output of the program that rustc links."""
    folder = tmp_path_factory.mktemp("rust")
    flags = ["-O", "-g", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "no-prepopulate-passes"]
    bitcode = folder / "heat.bc"
    rustc(*flags, "--emit=llvm-bc", SOURCE, "-o", bitcode)
    found = re.search(rb"(_RNvCs[A-Za-z0-9]+_7___rustc)\d+___rust_alloc", bitcode.read_bytes())
    if found is None:
        pytest.skip("another naming of Rust's allocator")
    (folder / "allocator.c").write_text(allocator(found.group(1).decode()))
    libraries = Path(rustc("--print", "sysroot")) / "lib/rustlib/x86_64-unknown-linux-gnu/lib"
    rlibs = [str(path) for crate in CRATES for path in libraries.glob(f"lib{crate}-*.rlib")]
    rustc("-O", SOURCE, "-o", folder / "plain")
    plain = subprocess.run([folder / "plain", str(N), str(STEPS)], check=True, capture_output=True, text=True)
    return [bitcode, folder / "allocator.c"], [*rlibs, "-lunwind"], plain.stdout


def test_heat_moves_a_halo(program: tuple[list[Path], list[str], str]) -> None:
    sources, libraries, _ = program
    result = ca.analyze(
        sources,
        [N, STEPS],
        nodes=[PARTS],
        regions=["heat"],
        ldflags=libraries,
        program_output="discard",
        check=True,
    )
    best = result.best(PARTS)
    arrays = [o.kind is HomeKind.HEAP for o in result.graph.objects]
    moved = sum(int(b) for b, a in zip(best.object_bytes, arrays, strict=True) if a)
    assert moved == 8 * 2 * (PARTS - 1) * STEPS
    assert result.work.flops == 5 * (N - 2) * STEPS


def test_output_is_that_of_rustcs_program(program: tuple[list[Path], list[str], str]) -> None:
    sources, libraries, plain = program
    words = ["analyze", *map(str, sources), "--nodes", "2", "--ldflags", " ".join(libraries), "-q"]
    command = [sys.executable, "-m", "commanalyzer", *words, "--", str(N), str(STEPS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.startswith(plain)

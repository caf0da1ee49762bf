"""Front end: sources, or an executable of the wrappers, in, one canonical LLVM module out (Section 4.1).

Each source is compiled by clang without running LLVM passes, if it has changed; a child process links and
canonicalises.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shlex
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError, IrError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.drivers.command import (
    needs_openmp,
    sequential_openmp,
    system_library_flags,
)
from commanalyzer.program.frontend.drivers.embedded import (
    ElfImage,
    EmbeddedProgram,
    Record,
    is_elf,
    read_program,
)
from commanalyzer.program.frontend.inputs.fortran import (
    FORTRAN_SUFFIXES,
    compile_fortran,
    find_fortran,
    runtime_libraries,
)
from commanalyzer.program.frontend.inputs.sources import SourceCompiler
from commanalyzer.program.frontend.link import cached_file, content_key, fortran_models, uses_fortran
from commanalyzer.program.frontend.outcome import Outcome, read_outcome
from commanalyzer.program.frontend.toolchain import (
    Language,
    Toolchain,
    bundled_toolchain,
    find_toolchain,
    run_tool,
)

logger = logging.getLogger(__name__)
C_SUFFIXES = frozenset({".c"})
CXX_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C"})
IR_SUFFIXES = frozenset({".ll", ".bc"})
_CANONICALIZE_TIMEOUT_S = 600.0
_PACKAGE_PARENT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file the result depends on: path as the user gave it and SHA-256 of its content."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FrontendResult:
    """Canonical program."""

    ir_text: str  # one LLVM module for ``x86_64-unknown-linux-gnu``, as printed by llvmlite's LLVM
    language: Language  # decides the driver that links (``c++`` needs its standard library)
    toolchain: Toolchain  # also links when ``toolchain.bundled`` is false
    flags: tuple[str, ...]
    inputs: tuple[InputFile, ...]
    # IR names (without ``@``) of the requested regions: functions, which are never inlined, and those that
    # stand for the begin of a mark
    region_functions: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()  # what of an executable's build is not repeated, a sentence each
    link_inputs: tuple[Path, ...] = ()  # objects of the program that have no IR
    link_flags: tuple[str, ...] = ()  # libraries and search paths that the program was linked with
    libraries: tuple[str, ...] = ()  # paths of the Fortran runtime, linked when not empty


def compile_sources(
    sources: Sequence[Path],
    *,
    compiler: str = "",
    flags: Sequence[str] = (),
    regions: Sequence[str] = (),
    fortran: str = "",
) -> FrontendResult:
    """Canonical program made of all ``sources``.

    Args:
        sources: C, C++, Fortran and LLVM IR files (text or bitcode), any number, one defines ``main``.
            Fortran sources stand in the order of their modules. Or an executable of the compiler wrappers,
            alone and without flags: what it and its shared objects carry is the program.
        compiler: The user's compiler command; empty for ``$CC`` or the bundled clang.
        flags: Passed to the compiler after our own, so they win.
        regions: Functions that must survive as functions, by source or IR name, and names of marks.
        fortran: The user's flang; empty for ``$COMMANALYZER_FC`` or one on the search path.

    Raises:
        ConfigError: If a file is missing or of unknown kind, or a region names no function or mark.
        CompileError: If the compiler refuses a source or is not usable, or ``main`` is missing.
        IrError: If a module does not parse, verify or link, or LLVM crashes on it.
        InstrumentationError: If a module is already instrumented.
    """
    if not sources:
        raise ConfigError("expected at least one source file, found none")
    if any(map(is_elf, sources)):
        return _compiled_executable(sources, compiler, flags, regions, fortran)
    inputs = tuple(_input_file(path) for path in sources)
    toolchain = find_toolchain(compiler)
    with scratch_directory() as scratch:
        modules = _bitcode_of(sources, Path(scratch), toolchain, tuple(flags), fortran)
        libraries, models = fortran_runtime(modules, fortran)
        labels = [str(source) for source in sources]
        ir_path, found = canonical_file(modules, labels, tuple(regions), Path(scratch), models=models)
        ir_text = ir_path.read_text()
    return FrontendResult(
        ir_text=ir_text,
        language=language_of(sources, ir_text),
        toolchain=toolchain,
        flags=tuple(flags),
        inputs=inputs,
        region_functions=found,
        libraries=libraries,
    )


def _bitcode_of(
    sources: Sequence[Path], scratch: Path, toolchain: Toolchain, flags: tuple[str, ...], fortran: str
) -> list[Path]:
    """Modules of all sources, in their order; the compilers' warnings are log messages.

    C and C++ sources are compiled side by side; those of Fortran one after the other, as they use each other.
    """
    is_fortran = [source.suffix in FORTRAN_SUFFIXES for source in sources]
    is_ir = [source.suffix in IR_SUFFIXES for source in sources]
    modules = [
        s if ir else scratch / f"module{i}.bc" for i, (s, ir) in enumerate(zip(sources, is_ir, strict=True))
    ]
    compiler = SourceCompiler(toolchain, flags)
    with ThreadPoolExecutor(os.cpu_count()) as compilers:
        running = {
            i: compilers.submit(compiler.compile, s, "c++" if s.suffix in CXX_SUFFIXES else "c", modules[i])
            for i, s in enumerate(sources)
            if not is_fortran[i] and not is_ir[i]
        }
        for i, source in enumerate(sources):
            said = running[i].result() if i in running else ""
            if is_fortran[i]:
                said = compile_fortran(source, modules[i], find_fortran(fortran), flags, scratch)
            if said:
                logger.info("%s", said)
    return modules


def fortran_runtime(modules: Sequence[Path], fortran: str) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Libraries to link and models to add for modules that call the Fortran runtime."""
    if not uses_fortran(path.read_bytes() for path in modules):
        return (), ()
    return runtime_libraries(find_fortran(fortran)), fortran_models()


def _input_file(path: Path) -> InputFile:
    known = C_SUFFIXES | CXX_SUFFIXES | FORTRAN_SUFFIXES | IR_SUFFIXES
    if path.suffix not in known and path.exists():
        raise ConfigError(
            f"expected a source file ({' '.join(sorted(known))}), found suffix {path.suffix!r}",
            where=str(path),
            hint="functions that Numba compiles: commanalyzer.analyze_function(function, *arguments)"
            if path.suffix == ".py"
            else "other languages: let their LLVM compiler write .ll or .bc and give that",
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"expected a readable source file, found: {error.strerror}",
            where=str(path),
            hint="arguments of the program go behind --: commanalyzer analyze prog.c -- 100",
        ) from error
    if not data.strip():
        raise ConfigError("expected a program, found an empty file", where=str(path))
    return InputFile(str(path), hashlib.sha256(data).hexdigest())


def canonical_file(
    modules: Sequence[Path],
    labels: Sequence[str],
    regions: tuple[str, ...],
    scratch: Path,
    *,
    shared: Sequence[int] = (),
    models: Sequence[Path] = (),
) -> tuple[Path, tuple[str, ...]]:
    """Canonical IR in the cache, and the IR names of the regions.

    The arguments are those of :func:`commanalyzer.program.frontend.canonicalize.canonicalize`.
    """
    # The code that makes it is part of the key: what another version made answers for nothing.
    code = sorted(Path(__file__).parents[1].rglob("*.py"))
    contents = [path.read_bytes() for path in (*modules, *models, *code)]
    options = [f"--region={name}" for name in regions] + [f"--shared={count}" for count in shared]
    key = content_key(["canonical", *labels, "|", *options, "|", *contents])
    options += [f"--models={path}" for path in models]
    report = scratch / "report.json"

    def produce(draft: Path) -> None:
        outcome = _run_child(modules, labels, options, draft, report)
        # The region names travel in front of the module: a cached file must answer for them too.
        header = "".join(f"; region {name}\n" for name in outcome.regions)
        draft.write_text(header + draft.read_text())

    path = cached_file(key, ".ll", produce)
    with path.open() as stream:
        lines = [line for line in stream.readlines(65536) if line.startswith("; region ")]
    return path, tuple(line[len("; region ") :].rstrip("\n") for line in lines)


def _run_child(
    modules: Sequence[Path], labels: Sequence[str], options: Sequence[str], output: Path, report: Path
) -> Outcome:
    # -P and the explicit path: the user's working directory must not provide modules to the child.
    start = (
        f"import sys; sys.path.append({str(_PACKAGE_PARENT)!r}); "
        "from commanalyzer.program.frontend.canonicalize import main; raise SystemExit(main())"
    )
    command = [sys.executable, "-P", "-c", start, f"--output={output}", f"--report={report}"]
    for path, label in zip(modules, labels, strict=True):
        command += [f"--module={path.resolve()}", f"--label={label}"]
    command += options
    done = run_tool(command, timeout_s=_CANONICALIZE_TIMEOUT_S)
    outcome = read_outcome(report)
    if outcome is None:
        found = f"LLVM ended with status {done.exit_status}: {done.last_lines(3) or 'no message'}"
        if done.exit_status is None:
            found = f"no end after {_CANONICALIZE_TIMEOUT_S:.0f} s"
        raise IrError(
            f"expected LLVM to read and optimise the modules, found {found}",
            where=", ".join(labels),
            hint="the module is damaged or made by an incompatible LLVM",
        )
    outcome.raise_if_failed()
    return outcome


def language_of(sources: Sequence[Path], ir_text: str) -> Language:
    """Language whose driver links the program."""
    if any(path.suffix in CXX_SUFFIXES for path in sources):
        return "c++"
    if re.search(r"@(__gxx_personality_v0|__cxa_\w+|_Zn[aw]m|_ZNS?t\w*)\b", ir_text):
        return "c++"
    return "fortran" if "@_Fortran" in ir_text else "c"


def _compiled_executable(
    sources: Sequence[Path], compiler: str, flags: Sequence[str], regions: Sequence[str], fortran: str
) -> FrontendResult:
    """Canonical program made of the IR that an executable and its shared objects carry.

    As :func:`compile_sources`; ``compiler`` links the analysis, empty for the one that
    the program was built with. A ConfigError if there are other files or flags, or the executable has no IR.
    """
    if len(sources) != 1:
        raise ConfigError(
            f"expected one executable or only sources, found {', '.join(map(str, sources))}",
            hint='object files and libraries are linked with --ldflags "more.o -lm"',
        )
    if flags:
        raise ConfigError(
            "expected no compiler flags for an executable, found some",
            where="--cflags",
            hint="the executable was compiled with the flags of its build",
        )
    program = read_program(sources[0])
    toolchain, toolchain_notes = _toolchain(program, compiler)
    modules = [(image, record) for image in program.images for record in image.of_kind("module")]
    labels = [record.name for _, record in modules]
    with scratch_directory() as folder:
        scratch = Path(folder)
        paths = [scratch / f"module{i}.bc" for i in range(len(modules))]
        for path, (_, record) in zip(paths, modules, strict=True):
            path.write_bytes(record.payload)
        shared = [len(image.of_kind("module")) for image in program.images[1:]]
        libraries, models = fortran_runtime(paths, fortran)
        ir_path, found = canonical_file(paths, labels, tuple(regions), scratch, shared=shared, models=models)
        ir_text = ir_path.read_text()
    options, gone = program.link_options()
    contents = [(str(sources[0]), sources[0].read_bytes()), *((r.name, r.payload) for _, r in modules)]
    linked = {record.language for record in program.images[0].of_kind("link")}
    return FrontendResult(
        ir_text=ir_text,
        language="c++" if "c++" in linked else language_of((), ir_text),
        toolchain=toolchain,
        flags=(),
        inputs=tuple(InputFile(name, hashlib.sha256(data).hexdigest()) for name, data in contents),
        region_functions=found,
        diagnostics=(*toolchain_notes, *_diagnostics(program.images, gone)),
        libraries=libraries,
        link_inputs=_link_inputs(program, ir_text),
        link_flags=(*options, *(system_library_flags() if toolchain.bundled else ())),
    )


def _link_inputs(program: EmbeddedProgram, ir_text: str) -> tuple[Path, ...]:
    """Machine code that the program consists of besides its IR."""

    def written(record: Record) -> Path:
        def produce(draft: Path) -> None:
            draft.write_bytes(record.payload)

        return cached_file(content_key(["object of a record", record.payload]), ".o", produce)

    objects = [written(record) for image in program.images for record in image.of_kind("object")]
    return (*objects, *([sequential_openmp()] if needs_openmp(ir_text) else ()))


def _toolchain(program: EmbeddedProgram, compiler: str) -> tuple[Toolchain, tuple[str, ...]]:
    if compiler.strip():
        return find_toolchain(compiler), ()
    links = [record for image in program.images for record in image.of_kind("link")]
    recorded = next((record.compiler for record in links if record.compiler), ())
    if not recorded:
        return bundled_toolchain(), ()
    try:
        return find_toolchain(shlex.join(recorded)), ()
    except CommAnalyzerError as error:
        note = f"linked with the bundled compiler, as the program's own is not usable: {error.message}"
        return bundled_toolchain(), (note,)


def _diagnostics(images: Sequence[ElfImage], gone: Sequence[str]) -> list[str]:
    objects = [record for image in images for record in image.of_kind("object")]
    changed = [record.note for image in images for record in image.of_kind("link") if record.note]
    notes = []
    if objects:
        named = ", ".join(f"{record.name} ({record.note})" for record in objects)
        notes.append(f"{len(objects)} object files without IR: what they compute is not followed: {named}")
    if changed:
        notes.append(f"linker options that are not repeated in the analysis: {' '.join(changed)}")
    if gone:
        notes.append(f"libraries of the link that are not there any more: {', '.join(gone)}")
    return notes

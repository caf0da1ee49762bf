"""An executable made by the compiler wrappers in, one canonical LLVM module out."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from commanalyzer.foundation.errors import CommAnalyzerError, ConfigError
from commanalyzer.foundation.files import scratch_directory
from commanalyzer.program.frontend.compile import (
    FrontendResult,
    InputFile,
    canonical_file,
    fortran_runtime,
    language_of,
)
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
from commanalyzer.program.frontend.link import cached_file, content_key
from commanalyzer.program.frontend.toolchain import Toolchain, bundled_toolchain, find_toolchain


def has_executable(sources: Sequence[Path]) -> bool:
    """One of the files is in ELF format (an executable, shared object or object file)."""
    return any(is_elf(path) for path in sources)


def compile_executable(
    sources: Sequence[Path],
    *,
    compiler: str = "",
    flags: Sequence[str] = (),
    regions: Sequence[str] = (),
    fortran: str = "",
) -> FrontendResult:
    """Canonical program made of the IR that an executable and its shared objects carry.

    ``sources`` is the executable, alone, and ``flags`` empty: nothing is compiled. ``compiler`` links the
    analysis; empty for the one that the program was built with. The runtime of ``fortran`` is linked; empty
    for ``$COMMANALYZER_FC`` or a flang on the search path. Regions are functions that must survive as such.

    Raises ConfigError if there are other files or flags, or the executable carries no IR, and else what
    :func:`compile_sources` does.
    """
    if len(sources) != 1:
        raise ConfigError(
            f"expected one executable or only sources, found both in {len(sources)} files",
            where=", ".join(map(str, sources)),
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

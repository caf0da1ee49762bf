"""Child process: several modules in, one verified module in canonical form out.

Run as ``python -m commanalyzer.program.frontend.canonicalize``. LLVM may abort the process on damaged input;
as a child it cannot take the user's session with it. The outcome is one JSON file, see
:mod:`commanalyzer.program.frontend.outcome`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from commanalyzer.foundation.errors import CommAnalyzerError, CompileError, InstrumentationError, IrError
from commanalyzer.program.frontend.forwarding import with_lanes, with_reloads, without_relaxed_math
from commanalyzer.program.frontend.link import chosen_models, hide_models, redirect_calls
from commanalyzer.program.frontend.outcome import Outcome, write_outcome
from commanalyzer.program.frontend.regions import define_marks, mark_regions

TRIPLE = "x86_64-unknown-linux-gnu"
MARKER = "__ca_instrumented"
_BITCODE_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
# Constant products went out of LLVM's language; up to flang 19, multiples of a size are written that way.
_TYPE = r'(?:"[^"\n]*"|[^()"\n])+?'
_SIZE = rf"ptrtoint \(ptr getelementptr \((?P<type>{_TYPE}), ptr null, i\d+ (?P<first>-?\d+)\) to i64\)"
_PRODUCT = re.compile(rf"\bmul (?:nuw )?(?:nsw )?\(i64 {_SIZE}, i64 (?P<second>-?\d+)\)")
_CONTEXT = 120  # characters of a refused line that a message shows on each side

# an integer type that LLVM's parser accepts and its code generation does not survive; no name, no text
_WIDE = re.compile(r"(?<![\w%@.$\"-])i([1-9]\d{5,})\b")


def canonicalize(
    paths: Sequence[Path],
    labels: Sequence[str],
    regions: tuple[str, ...],
    shared: Sequence[int] = (),
    models: Sequence[Path] = (),
) -> tuple[str, Outcome]:
    """Canonical text of all modules linked together.

    Canonical: LLVM's O1 pipeline without vectorising, unrolling and interleaving; no switches, loops in
    simplified and closed-SSA form, no critical edges, every value named, one result per operation; what
    :mod:`commanalyzer.program.frontend.forwarding` makes of values carried from block to block.

    The region names are those of functions that must survive as functions, by source or IR name, and of
    marks. ``shared`` says how many of the modules belong to each shared object of the program; they stand
    last. Library models are bitcode (:mod:`commanalyzer.program.frontend.link`).

    Raises:
        IrError: If a module does not parse or verify, is for another target, or symbols collide.
        InstrumentationError: If a module is already instrumented.
        CompileError: If nothing defines ``main``.
        ConfigError: If a region names no defined function and no mark.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="x86-64", features="", opt=1)
    modules = [_load(path, label) for path, label in zip(paths, labels, strict=True)]
    for module, label in zip(modules, labels, strict=True):
        _check_target(module, label)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
    linked = _link_program(modules, labels, shared)
    _require_main(linked)
    text, found = mark_regions(_without_optnone(str(linked)), regions)
    linked = _with_models(_parse_text(text, "linked module"), models, machine)
    linked = _optimised(linked, machine)
    linked.verify()
    text = with_reloads(define_marks(without_relaxed_math(str(linked))))
    return text, Outcome(regions=found)


def _load(path: Path, label: str) -> llvm.ModuleRef:
    data = path.read_bytes()
    if not data.strip():
        raise IrError("expected an LLVM module, found an empty file", where=label)
    if data.startswith(_BITCODE_MAGIC):
        try:
            module = llvm.parse_bitcode(data)
        except RuntimeError as error:
            raise _parse_error(error, label) from error
    elif b"\0" in data:
        raise IrError(
            "expected LLVM bitcode or text, found other binary data",
            where=label,
            hint="write it with clang -emit-llvm -c (not an object file or executable)",
        )
    else:
        module = _parse_text(_without_products(data.decode("utf-8", "replace")), label)
    text = str(module)
    if wide := _WIDE.search(text):
        raise IrError(
            f"expected integers of fewer than 100,000 bits, found i{wide[1]}",
            where=label,
            hint="LLVM takes minutes to hours to generate code for a single division of such",
        )
    if MARKER in {v.name for v in module.global_variables} or f"!{MARKER} =" in text:
        raise InstrumentationError(
            "expected an original module, found an already instrumented one",
            where=label,
            hint="analyse the module as the compiler wrote it",
        )
    return module


def _without_products(text: str) -> str:
    """Text in which k times the size of n elements is the size of k n elements."""

    def multiple(product: re.Match[str]) -> str:
        count = int(product["first"]) * int(product["second"])
        return f"ptrtoint (ptr getelementptr ({product['type']}, ptr null, i64 {count}) to i64)"

    replaced = 1
    while replaced:  # a product may be a factor of another one
        text, replaced = _PRODUCT.subn(multiple, text)
    return text


def _parse_text(text: str, label: str) -> llvm.ModuleRef:
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise _parse_error(error, label) from error


def _parse_error(error: RuntimeError, label: str) -> IrError:
    """LLVM's message: the reason, and of the line that it quotes what stands around the place."""
    detail = str(error).strip("\n")
    place = re.search(r"<string>:(\d+):(\d+): (?:error: )?(.*)", detail)
    if place is None:
        reason = detail.strip().rsplit("\n", 1)[-1]
        hint = ""
        if "unsupported constant expression" in reason:
            hint = "give the module as text (-emit-llvm -S), where old constant products are understood"
        elif "bitcode" in detail:
            hint = "LLVM versions above 22 are not readable"
        return IrError(f"expected a valid LLVM module, found: {reason}", where=label, hint=hint)
    column = int(place[2]) - 1
    quoted = detail[place.end() :].strip("\n").split("\n")[0]
    first = max(0, column - _CONTEXT)
    shown = quoted[first : column + _CONTEXT]
    caret = f"\n{shown}\n{' ' * (column - first)}^" if shown.strip() else ""
    return IrError(f"expected a valid LLVM module, found: {place[3]}{caret}", where=f"{label}:{place[1]}")


def _check_target(module: llvm.ModuleRef, label: str) -> None:
    triple, layout = module.triple, module.data_layout
    fits = not triple or (
        triple.startswith(("x86_64", "amd64")) and "linux" in triple and "x32" not in triple
    )
    if not fits or layout.startswith("E"):
        raise IrError(
            f"expected a module for x86-64 Linux, found target {triple!r}",
            where=label,
            hint="compile with --target=x86_64-linux-gnu",
        )


def _link_program(
    modules: list[llvm.ModuleRef], labels: Sequence[str], shared: Sequence[int]
) -> llvm.ModuleRef:
    """The program's modules and its shared objects' in one, as the dynamic linker joins them.

    Of several definitions of a name, that of the program counts, then that of the first shared object;
    names that a shared object hides are its own.
    """
    end = len(modules) - sum(shared)
    linked = _link(modules[:end], labels[:end])
    for count in shared:
        library = _link(modules[end : end + count], labels[end : end + count])
        _give_way(library, linked)
        linked = _link([linked, library], ["program", labels[end]])
        end += count
    return linked


def _give_way(library: llvm.ModuleRef, program: llvm.ModuleRef) -> None:
    taken = {v.name for v in _definitions(program) if v.linkage != llvm.Linkage.internal}
    for value in _definitions(library):
        if value.linkage != llvm.Linkage.external:
            continue
        if value.visibility == llvm.Visibility.hidden:
            value.visibility = llvm.Visibility.default
            value.linkage = llvm.Linkage.internal
        elif value.name in taken:
            value.linkage = llvm.Linkage.weak_any


def _definitions(module: llvm.ModuleRef) -> list[llvm.ValueRef]:
    return [v for v in (*module.functions, *module.global_variables) if not v.is_declaration]


def _link(modules: list[llvm.ModuleRef], labels: Sequence[str]) -> llvm.ModuleRef:
    linked = modules[0]
    for module, label in zip(modules[1:], labels[1:], strict=True):
        try:
            linked.link_in(module)
        except RuntimeError as error:
            symbol = re.search(r"'([^']+)'", str(error))
            reason = f"symbol {symbol.group(1)!r} is defined twice" if symbol else str(error)
            raise IrError(
                f"expected modules that link, found: {reason}",
                where=label,
                hint=f"other modules: {', '.join(item for item in labels if item != label)}",
            ) from error
    return linked


def _require_main(module: llvm.ModuleRef) -> None:
    try:
        defined = not module.get_function("main").is_declaration
    except NameError:
        defined = False
    if not defined:
        raise CompileError(
            "expected a program with a main function, found none",
            hint="give all source files of the program, the one with main included",
        )


def _with_models(
    module: llvm.ModuleRef, models: Sequence[Path], machine: llvm.TargetMachine
) -> llvm.ModuleRef:
    """The module with its library calls redirected to their models."""
    if not models:
        return module
    naming = llvm.create_new_module_pass_manager()
    naming.add_instruction_namer_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    naming.run(module, builder)
    loaded = [llvm.parse_bitcode(path.read_bytes()) for path in models]
    defined = {f.name: str(f.global_value_type) for model in loaded for f in _definitions(model)}
    declared = {f.name: str(f.global_value_type) for f in module.functions if f.is_declaration}
    text = redirect_calls(str(module), chosen_models(declared, defined))
    module = _parse_text(text, "linked module")
    for model in loaded:
        model.triple, model.data_layout = module.triple, module.data_layout
        module.link_in(model)
    return _parse_text(hide_models(str(module)), "linked module")


def _without_optnone(text: str) -> str:
    """Text whose attribute groups allow optimisation (clang -O0 forbids it on every function)."""
    return re.sub(
        r"^attributes #\d+ = \{.*$", lambda m: m.group(0).replace(" optnone", ""), text, flags=re.MULTILINE
    )


def _optimised(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    # Without dependences, values are not forwarded in registers from a store to loads of later rounds
    # (LoopLoadElimination): what u[j] = f(u[j - 1]) reads has a home. Nothing else here asks for them.
    llvm.set_option("", "-max-dependences=0")
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_unrolling = False
    tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    shape = llvm.create_new_module_pass_manager()
    shape.add_lower_switch_pass()
    shape.add_loop_simplify_pass()
    shape.add_lcssa_pass()
    shape.add_break_critical_edges_pass()
    shape.add_instruction_namer_pass()
    shape.run(module, builder)
    text = str(module)
    if (apart := with_lanes(text)) is not text:
        module = _parse_text(apart, "module with lanes of vectors apart")
        combining = llvm.create_new_module_pass_manager()
        combining.add_instruction_combine_pass()
        combining.run(module, builder)
        shape.run(module, builder)
    return module


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the child: 0, or 1 when the report carries an error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--region", action="append", default=[])
    parser.add_argument("--shared", action="append", default=[], type=int)
    parser.add_argument("--models", action="append", default=[], type=Path)
    parser.add_argument("--module", action="append", required=True, type=Path)
    parser.add_argument("--label", action="append", required=True)
    options = parser.parse_args(arguments)
    try:
        inputs = (options.module, options.label)
        text, outcome = canonicalize(*inputs, tuple(options.region), options.shared, options.models)
        options.output.write_text(text)
    except CommAnalyzerError as error:
        outcome = Outcome(type(error).__name__, error.message, error.where, error.hint)
    except RuntimeError as error:
        outcome = Outcome("IrError", f"expected a module that verifies, found: {error}")
    write_outcome(outcome, options.report)
    return 1 if outcome.kind else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Applies a plan to the module's text.

Input: the canonical module and its plan. Output: IR text that, linked with the shim, records the program.
Debug information is dropped: its facts are in the site table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from commanalyzer.foundation.errors import InstrumentationError
from commanalyzer.program.frontend.regions import prevent_inlining
from commanalyzer.program.ir.cfg import control_flow
from commanalyzer.program.ir.model import BasicBlock, Function, Module
from commanalyzer.recording import abi
from commanalyzer.recording.instrument.code import SCRATCH, FunctionPatch, plain_text, without_debug
from commanalyzer.recording.instrument.loops.loop_code import LoopCopies
from commanalyzer.recording.instrument.plan import ModulePlan

# the attributes of a variable follow its initializer: the last match on its line
_SMALL_ALIGNMENT = re.compile(r", align [12](?=(?:, !\w+ !\d+)*$)")
# attributes inferred for the program as it was: with recording, functions do write memory
_MEMORY_ATTRIBUTE = re.compile(
    r"\b(?:memory\([^)]*\)|readnone|readonly|writeonly|argmemonly|inaccessiblememonly|speculatable|"
    r"inaccessiblemem_or_argmemonly)\s*"
)


# Hooks in innermost loops, where nearly all events are, are inlined in functions with at most so many hooks.
# LLVM's time grows faster than their number: inlined in larger ones, 10 s instead of 2.4 s for a program.
MOST_INLINED = 1000
_USED = re.compile(rf"@({abi.PREFIX}\w+)\(")
_HOOK = re.compile(rf"  (?:%\S+ = )?call [^\n]*@{abi.PREFIX}\w+\(.*\)")


def rewrite(module: Module, plan: ModulePlan) -> str:
    """Return the instrumented module's text; InstrumentationError if it is instrumented already."""
    if any(abi.MARKER in line for line in module.lines):
        raise InstrumentationError(
            "the module is already instrumented; expected the program's own IR",
            hint="analyse the original source or bitcode",
        )
    lines = patched(module, plan.patches, _word_aligned(module))
    lines.extend(_tables(plan))
    used = {name for line in lines for name in _USED.findall(line)}
    lines.extend(hook.declaration() for name, hook in abi.HOOKS.items() if name in used)
    return "\n".join(lines) + "\n"


def patched(module: Module, patches: Mapping[str, FunctionPatch], text: Sequence[str]) -> list[str]:
    """Return the module's lines with the patches of all functions in them, without debug information.

    Patches are by function name; lines between functions are taken from ``text``.
    """
    lines: list[str] = []
    position = 0
    for function in module.functions:
        lines.extend(_outside(text[position : function.first_line]))
        lines.extend(_function(module, function, patches[function.name]))
        position = function.last_line + 1
    lines.extend(_outside(text[position:]))
    return lines


def _word_aligned(module: Module) -> list[str]:
    """The module's lines with variables that start at a word: small ones must not share one."""
    lines = list(module.lines)
    for variable in module.globals:
        if not variable.is_external and not variable.is_constant:
            line = lines[variable.first_line]
            if (found := _SMALL_ALIGNMENT.search(line)) and "section" not in line[: found.start()]:
                lines[variable.first_line] = f"{line[: found.start()]}, align 4{line[found.end() :]}"
    return lines


def _outside(lines: Sequence[str]) -> list[str]:
    """Lines between functions: without debug information and outdated attributes."""
    result = []
    for line in lines:
        if line.startswith("!llvm.dbg.cu"):
            continue
        if line.startswith("attributes #"):
            line = _MEMORY_ATTRIBUTE.sub("", line).replace("= { }", "= { memory(readwrite) }")  # never empty
        elif line.startswith("@"):
            line = without_debug(line)
        result.append(line)
    return result


def _function(module: Module, function: Function, patch: FunctionPatch) -> list[str]:
    header = without_debug(module.lines[function.first_line])
    for old, new in patch.renamed_parameters.items():
        header = re.sub(rf"{re.escape(old)}(?=[,)])", new, header)
    if patch.is_noinline:
        header = prevent_inlining(header)
    result = [header]
    entry = list(patch.entry)
    if patch.needs_scratch:
        entry.insert(0, f"  {SCRATCH} = alloca [{abi.MAX_LABELS} x i64], align 8")
    position = function.first_line + 1
    cfg = control_flow(function)
    outer = {None, *(loop.parent for loop in cfg.loops.values())}
    copies = LoopCopies(
        function, patch.repeated, lambda line: patch.replaced.get(line, plain_text(module.lines[line]))
    )
    for block in function.blocks:
        first = block.instructions[0].first_line
        result.extend(_plain(module.lines[position:first]))
        lines = _block(module, block, patch, entry if block is function.blocks[0] else [])
        joined = copies.joined(block, lines)
        is_inlined = cfg.innermost_loop.get(block.label) not in outer
        result.extend(joined if is_inlined else map(_called, joined))
        position = block.instructions[-1].last_line + 1
    result.extend(_plain(module.lines[position : function.last_line]))
    result.extend(map(_called, copies.blocks()))
    result.extend(_plain(module.lines[function.last_line : function.last_line + 1]))
    num_hooks = sum(_HOOK.match(line) is not None for line in result)
    return result if num_hooks <= MOST_INLINED else list(map(_called, result))


def _called(line: str) -> str:
    return f"{line} noinline" if _HOOK.fullmatch(line) else line


def _plain(lines: tuple[str, ...]) -> list[str]:
    return [line for line in lines if not line.lstrip().startswith("#dbg_")]


def _block(module: Module, block: BasicBlock, patch: FunctionPatch, entry: list[str]) -> list[str]:
    result = list(entry)
    heading = [i for i in block.instructions if i.opcode == "phi"]
    rest = block.instructions[len(heading) :]
    result += [plain_text(module.lines[instruction.first_line]) for instruction in heading]
    result.extend(patch.phis.get(block.label, ()))
    tops = patch.tops.get(block.label, [])
    if rest[0].opcode not in ("landingpad", "catchpad", "cleanuppad"):
        result.extend(tops)
        tops = []
    for instruction in rest:
        result.extend(patch.before.get(instruction.first_line, ()))
        for line in range(instruction.first_line, instruction.last_line + 1):
            text = patch.replaced.get(line, plain_text(module.lines[line]))
            if text:
                result.append(text)
        result.extend(tops)  # a landing pad comes first in its block
        tops = []
        result.extend(patch.after.get(instruction.last_line, ()))
    return result


def _tables(plan: ModulePlan) -> list[str]:
    """Definitions that the shim reads: globals of the program, counters, sizes."""
    sites = plan.sites
    entries = ", ".join(
        f"{{ ptr, i64, i64 }} {{ ptr {r.key}, i64 {r.size_bytes}, i64 {r.is_constant << 32 | number} }}"
        for number, r in enumerate(sites.globals)
    )
    count = len(sites.globals)
    table = f"[{count} x {{ ptr, i64, i64 }}]"
    blocks, externals = len(sites.blocks), max(1, len(sites.externals))
    return [
        "",
        f"@{abi.MARKER} = constant i32 {abi.ABI_VERSION}",
        f"@ca_globals = hidden constant {table} {f'[{entries}]' if count else 'zeroinitializer'}",
        f"@ca_num_globals = hidden constant i64 {count}",
        f"@ca_block_counters = hidden global [{max(1, blocks)} x i64] zeroinitializer",
        f"@ca_num_block_counters = hidden constant i64 {blocks}",
        f"@ca_external_calls = hidden global [{externals} x i64] zeroinitializer",
        f"@ca_num_external_calls = hidden constant i64 {len(sites.externals)}",
        f"@ca_active = hidden {'global i64 0' if plan.options.regions else 'constant i64 1'}",
        f"@ca_switched_off = hidden constant i64 {plan.options.mechanisms.recorder_word}",
        f"@ca_num_calls = hidden constant i64 {max(1, len(sites.allocations))}",
        "@ca_context = external hidden global i32",
        f"@ca_num_frames = hidden constant i64 {max(1, len(sites.frames))}",
        "@ca_arguments = external hidden global [64 x i64]",
        "@ca_result = external hidden global i64",
        "@ca_argument_parts = external hidden global [1024 x i64]",
        "@ca_result_parts = external hidden global [16 x i64]",
        *([f"@{abi.OF_BYTES} = constant i32 1"] if sites.word_bytes == 1 else []),
    ]

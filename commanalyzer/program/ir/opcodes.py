"""Opcode classes and instruction words of LLVM IR."""

from __future__ import annotations

TERMINATORS = frozenset(
    {
        "br",
        "switch",
        "ret",
        "unreachable",
        "invoke",
        "callbr",
        "indirectbr",
        "resume",
        "catchswitch",
        "catchret",
        "cleanupret",
    }
)
BINARY = frozenset(
    {
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "frem",
    }
)
CASTS = frozenset(
    {
        "trunc",
        "zext",
        "sext",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "ptrtoint",
        "ptrtoaddr",
        "inttoptr",
        "bitcast",
        "addrspacecast",
    }
)
ORDERINGS = frozenset({"unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"})
TAIL_WORDS = frozenset({"tail", "musttail", "notail"})
FAST_MATH = frozenset({"fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})

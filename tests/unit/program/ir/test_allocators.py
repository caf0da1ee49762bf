"""Functions that hand out new blocks, and the calls that are part of the paths of allocations."""

from commanalyzer.program.ir.allocators import Allocators, carvers
from commanalyzer.program.ir.libcalls import default_library
from commanalyzer.program.ir.model import Instruction
from commanalyzer.program.ir.names.addresses import ModuleNames
from commanalyzer.program.ir.parsing.parser import parse_module

_DECLARATIONS = """
declare ptr @malloc(i64)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @use(ptr)
@kept = global ptr null
"""


def lengthening(text: str) -> dict[str, list[str]]:
    """Per function that hands out blocks, and ``@main``: callees (``?`` pointers) that lengthen paths."""
    module = parse_module(_DECLARATIONS + text)
    allocators = Allocators(module, default_library())
    result: dict[str, list[str]] = {}
    for function in module.functions:
        if not allocators.hands_out(function.name) and function.name != "@main":
            continue
        calls = [i for b in function.blocks for i in b.instructions if i.opcode in ("call", "invoke")]
        result[function.name] = [
            _callee(call)
            for call in calls
            if f"{call.callee}(" in _DECLARATIONS or allocators.lengthens(function.name, call)
        ]
    return result


def _callee(call: Instruction) -> str:
    return call.callee if call.callee.startswith("@") else "?"


def test_results_are_handed_out_through_any_number_of_calls() -> None:
    text = """
define ptr @inner(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
}
define ptr @outer(i64 %n) {
  %p = call ptr @inner(i64 %n)
  %q = getelementptr i8, ptr %p, i64 64
  ret ptr %q
}
define i32 @main() {
  %p = call ptr @outer(i64 8)
  ret i32 0
}
"""
    expected = {"@inner": ["@malloc"], "@outer": ["@inner"], "@main": ["@outer"]}
    assert lengthening(text) == expected


def test_parameters_lead_callers_to_blocks() -> None:
    """An out-parameter, a member of an object, a slot that is copied to the result's place."""
    text = """
define void @out(ptr %where, i64 %n) {
  %slot = alloca ptr
  %status = call i32 @posix_memalign(ptr %slot, i64 64, i64 %n)
  %p = load ptr, ptr %slot
  store ptr %p, ptr %where
  ret void
}
define void @member(ptr %object) {
  %inner = load ptr, ptr %object
  %field = getelementptr i8, ptr %inner, i64 16
  call void @out(ptr %field, i64 8)
  ret void
}
define i32 @main() {
  %object = alloca ptr
  call void @member(ptr %object)
  ret i32 0
}
"""
    assert lengthening(text) == {"@out": ["@posix_memalign"], "@member": ["@out"], "@main": ["@member"]}


def test_what_a_function_keeps_begins_there() -> None:
    """In a global, in its own variable, or only passed on."""
    text = """
define void @keep() {
  %p = call ptr @malloc(i64 8)
  store ptr %p, ptr @kept
  ret void
}
define ptr @borrow(ptr %given) {
  %slot = alloca ptr
  %p = call ptr @malloc(i64 8)
  store ptr %p, ptr %slot
  call void @use(ptr %p)
  ret ptr %given
}
define i32 @main() {
  call void @keep()
  %p = call ptr @borrow(ptr null)
  ret i32 0
}
"""
    assert lengthening(text) == {"@main": []}


def test_cycles_do_not_lengthen_paths() -> None:
    text = """
define ptr @even(i64 %n) {
  %p = call ptr @odd(i64 %n)
  ret ptr %p
}
define ptr @odd(i64 %n) {
  %stop = icmp eq i64 %n, 0
  br i1 %stop, label %new, label %more
new:
  %p = call ptr @malloc(i64 8)
  ret ptr %p
more:
  %q = call ptr @even(i64 %n)
  ret ptr %q
}
define i32 @main() {
  %p = call ptr @even(i64 4)
  ret i32 0
}
"""
    assert lengthening(text) == {"@even": [], "@odd": ["@malloc"], "@main": ["@even"]}


def test_calls_through_pointers_may_lead_to_functions_of_their_shape() -> None:
    text = """
define ptr @new(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  ret ptr %p
}
@table = constant [1 x ptr] [ptr @new]
define i32 @main() {
  %f = load ptr, ptr @table
  %p = call ptr %f(i64 8)
  %q = call ptr %f(i64 8, i64 8)
  ret i32 0
}
"""
    assert lengthening(text) == {"@new": ["@malloc"], "@main": ["?"]}


def test_functions_that_cut_blocks_move_on_by_what_their_caller_says() -> None:
    """An arena with a pointer, one with a count; neither records of one size nor elements of an array."""
    text = """
@next = global ptr null
@used = global i64 0
@pool = global [4096 x i8] zeroinitializer
define ptr @arena(i64 %n) {
  %p = load ptr, ptr @next
  %q = getelementptr i8, ptr %p, i64 %n
  store ptr %q, ptr @next
  ret ptr %p
}
define ptr @counted(i64 %n) {
  %u = load i64, ptr @used
  %r = add i64 %n, 15
  %a = and i64 %r, -16
  %v = add i64 %u, %a
  %p = getelementptr i8, ptr @pool, i64 %u
  store i64 %v, ptr @used
  ret ptr %p
}
define ptr @record() {
  %p = load ptr, ptr @next
  %q = getelementptr i8, ptr %p, i64 48
  store ptr %q, ptr @next
  ret ptr %p
}
define ptr @element(i64 %n) {
  %p = load ptr, ptr @next
  %q = getelementptr i8, ptr %p, i64 %n
  ret ptr %q
}
define ptr @other(i64 %n) {
  %p = load ptr, ptr @next
  store i64 %n, ptr @used
  ret ptr %p
}
"""
    module = parse_module(_DECLARATIONS + text)
    assert carvers(module, ModuleNames(module)) == {"@arena", "@counted"}

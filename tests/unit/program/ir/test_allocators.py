"""Functions that hand out new blocks, and the calls that are part of the paths of allocations."""

from commanalyzer.program.ir.allocators import Allocators, carvers
from commanalyzer.program.ir.libcalls import default_library
from commanalyzer.program.ir.names.addresses import ModuleNames
from commanalyzer.program.ir.parsing.parser import parse_module


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
    module = parse_module("declare ptr @malloc(i64)\n" + text)
    allocators = Allocators(module, default_library())
    found = {f.name: [c for c in f.instructions if allocators.lengthens(f.name, c)] for f in module.functions}
    assert {name: [call.callee for call in calls] for name, calls in found.items()} == {
        "@even": [], "@odd": [], "@main": ["@even"]
    }  # fmt: skip


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
    module = parse_module(text)
    assert carvers(module, ModuleNames(module)) == {"@arena", "@counted"}

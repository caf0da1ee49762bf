import pytest

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.interpreter.machine import Machine
from commanalyzer.recording.interpreter.run import interpret, interpret_on
from tests.unit.recording.interpreter.chains import Run

ECHO = """
@format = private constant [9 x i8] c"%d %.1f\\0A\\00"
define i32 @main(i32 %argc, ptr %argv) {
  %p = getelementptr ptr, ptr %argv, i64 1
  %s = load ptr, ptr %p
  %n = call i32 @atoi(ptr %s)
  %d = sitofp i32 %n to double
  %r = call i32 (ptr, ...) @printf(ptr @format, i32 %n, double %d)
  call void @exit(i32 %r)
  unreachable
}
declare i32 @atoi(ptr)
declare i32 @printf(ptr, ...)
declare void @exit(i32)
"""


def test_arguments_output_and_exit_status(run: Run) -> None:
    result = run(ECHO, ["-12"])
    assert result.stdout == b"-12 -12.0\n"
    assert result.exit_status == 10
    assert result.chains == {}


def test_endless_loops_hit_the_limit() -> None:
    module = parse_module("define i32 @main() {\n  br label %1\n\n1:\n  br label %1\n}\n")
    with pytest.raises(TargetRunError, match="at most 1000 instructions"):
        interpret_on(Machine(module, max_instructions=1000))


def test_main_is_needed() -> None:
    with pytest.raises(UnsupportedIrError, match="@main"):
        interpret(parse_module("define void @f() {\n  ret void\n}\n"))


def test_constructors_and_exit_functions_run_in_order(run: Run) -> None:
    text = """
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @late, ptr null }, { i32, ptr, ptr } { i32 101, ptr @early, ptr null }]
define internal void @late() {
  %a = call i32 @putchar(i32 98)
  ret void
}
define internal void @early() {
  %a = call i32 @putchar(i32 97)
  %b = call i32 @atexit(ptr @last)
  ret void
}
define internal void @last() {
  %a = call i32 @putchar(i32 99)
  ret void
}
declare i32 @putchar(i32)
declare i32 @atexit(ptr)
""".replace("[\n  ", "[ ")
    assert run(text, body="  %x = add i32 0, 0").stdout == b"abc"


def test_switch_takes_signed_cases_and_default(run: Run) -> None:
    text = """
define i32 @f(i8 %x) {
  switch i8 %x, label %default [
    i8 -1, label %minus
    i8 3, label %three
  ]

minus:
  ret i32 10

three:
  ret i32 20

default:
  ret i32 1
}
define i32 @main() {
  %a = call i32 @f(i8 -1)
  %b = call i32 @f(i8 3)
  %c = call i32 @f(i8 4)
  %d = add i32 %a, %b
  %e = add i32 %d, %c
  ret i32 %e
}
"""
    assert run(text).exit_status == 31


def test_external_calls_count_flops_by_table(run: Run) -> None:
    text = """
@x = global double 4.0
declare double @sqrt(double)
declare double @sin(double)
declare <2 x double> @llvm.fmuladd.v2f64(<2 x double>, <2 x double>, <2 x double>)
"""
    body = """
  %x = load double, ptr @x
  %s = call double @sqrt(double %x)
  %t = call double @sin(double %x)
  %v = call <2 x double> @llvm.fmuladd.v2f64(<2 x double> zeroinitializer, <2 x double> zeroinitializer, <2 x double> zeroinitializer)
  %c = fcmp olt double %s, %t
"""  # noqa: E501
    assert run(text, body=body).flops == 1 + 8 + 2 * 2

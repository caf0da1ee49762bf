"""Chains and homes of heap and bulk memory functions, derived by hand."""

import pytest

from commanalyzer.foundation.errors import TargetRunError, UnsupportedIrError
from commanalyzer.recording.interpreter.memory import Memory
from commanalyzer.recording.interpreter.values import Home
from tests.unit.recording.interpreter.chains import Run, at, chain

DECLARATIONS = """
declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@a = global [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@b = global [4 x i32] zeroinitializer
@out = global i32 0
"""
READ_B = """
  %pb = getelementptr i32, ptr @b, i64 {index}
  %vb = load i32, ptr %pb
  %wb = add i32 %vb, 1
  store i32 %wb, ptr @out
"""


def heap(name: str, offset: int) -> Home:
    return Home("heap", f"@main/{name}", 0, offset)


def test_an_arena_is_bumped_with_headers_and_reuses_freed_blocks(run: Run) -> None:
    text = (
        DECLARATIONS
        + """
@kept = global ptr null
define void @make(i64 %n) {
  %m = call ptr @malloc(i64 %n)
  store i32 1, ptr %m
  store ptr %m, ptr @kept
  ret void
}
"""
    )
    body = """
  call void @make(i64 20)
  %x = load ptr, ptr @kept
  call void @make(i64 4)
  %y = load ptr, ptr @kept
  call void @free(ptr %x)
  call void @free(ptr %y)
  call void @make(i64 32)
  call void @make(i64 33)
"""
    sites = [Home("heap", "@make/%m", 0, offset) for offset in (16, 64, 96)]
    # 20 and 32 round to 32; the second block starts after 16 + 32 + 16, the third after 16 + 16 more.
    assert run(text, body=body).chains == {chain(sites[0]): 2, chain(sites[1]): 1, chain(sites[2]): 1}


def test_new_memory_owns_its_words_again(run: Run) -> None:
    body = """
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %n, %loop ]
  %p = call ptr @malloc(i64 4)
  %x = load i32, ptr %p
  %y = add i32 %x, 1
  store i32 %y, ptr @out
  %a = load i32, ptr @a
  store i32 %a, ptr %p
  call void @free(ptr %p)
  %n = add i32 %i, 1
  %c = icmp eq i32 %n, 2
  br i1 %c, label %done, label %loop
done:
"""
    assert run(DECLARATIONS, body=body).chains == {chain(at("@out"), heap("%p", 16)): 2}


def test_memcpy_of_a_partial_word_leaves_it_its_value(run: Run) -> None:
    body = "  call void @llvm.memcpy.p0.p0.i64(ptr @b, ptr @a, i64 6, i1 false)\n"
    result = run(DECLARATIONS, body=body + READ_B.format(index=1))
    assert result.chains == {chain(at("@out"), at("@b", 4)): 1}


def test_shifted_memcpy_leaves_words_of_their_own_without_a_flow(run: Run) -> None:
    body = """
  %r = load i32, ptr @out
  store i32 %r, ptr @b
  %s = getelementptr i8, ptr @a, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr @b, ptr %s, i64 8, i1 false)
"""
    result = run(DECLARATIONS, body=body + READ_B.format(index=0))
    assert result.chains == {chain(at("@out"), at("@b", 0)): 1}


@pytest.mark.parametrize(
    "body",
    [
        "  %p = getelementptr i32, ptr @a, i64 4\n  %x = load i32, ptr %p",
        "  %x = load i32, ptr null",
        "  %p = call ptr @malloc(i64 16)\n  call void @free(ptr %p)\n  call void @free(ptr %p)",
        "  %x = udiv i32 1, 0",
    ],
)
def test_undefined_behaviour_is_noticed(run: Run, body: str) -> None:
    with pytest.raises(TargetRunError):
        run(DECLARATIONS, body=body)


def test_unknown_external_functions_are_refused_by_name(run: Run) -> None:
    with pytest.raises(UnsupportedIrError, match="mystery"):
        run("declare void @mystery()", body="  call void @mystery()")


def test_memory_limit() -> None:
    memory = Memory(100)
    memory.push_local("x", 0, 60)
    with pytest.raises(TargetRunError, match="at most 100 bytes"):
        memory.allocate("s", 64)


def test_popping_locals_ends_their_lifetime() -> None:
    memory = Memory(1000)
    keep = memory.push_local("x", 0, 4)
    gone = memory.push_local("y", 0, 4)
    memory.pop_locals(1)
    assert memory.own_home(keep.base) == Home("stack", "x", 0, 0)
    with pytest.raises(TargetRunError):
        memory.own_home(gone.base)

"""Value-flow chains of small programs, derived by hand."""

from commanalyzer.recording.interpreter.values import Home
from tests.unit.recording.interpreter.chains import Run, at, chain


def test_a_weighted_histogram_is_no_pure_count(run: Run) -> None:
    body = """
  %k = load i64, ptr @b
  %q = getelementptr double, ptr @h, i64 %k
  %o = load double, ptr %q
  %p = getelementptr double, ptr @w, i64 %k
  %w = load double, ptr %p
  %u = fadd double %o, %w
  store double %u, ptr %q
"""
    text = "@b = global i64 1\n@w = global [2 x double] zeroinitializer"
    text += "\n@h = global [2 x double] zeroinitializer"
    assert run(text, body=body).chains == {chain(at("@h", 8), at("@h", 8), at("@w", 8)): 1}


def test_overwriting_the_original_does_not_move_the_replica(run: Run) -> None:
    # The replica refers to the home of the value; the paper's compression merges all its versions.
    body = """
  %a = load i32, ptr @a
  store i32 %a, ptr @b
  store i32 5, ptr @a
  %b = load i32, ptr @b
  %c = add i32 %b, 1
  store i32 %c, ptr @c
"""
    text = "".join(f"@{n} = global i32 1\n" for n in "abc")
    assert run(text, body=body).chains == {chain(at("@a")): 1, chain(at("@c"), at("@a")): 1}


def test_storing_back_makes_the_word_its_own_again(run: Run) -> None:
    body = """
  %a = load i32, ptr @a
  store i32 %a, ptr @b
  %b = load i32, ptr @b
  store i32 %b, ptr @a
  %c = load i32, ptr @a
  %d = add i32 %c, 1
  store i32 %d, ptr @a
"""
    result = run("@a = global i32 1\n@b = global i32 0", body=body)
    assert result.chains == {chain(at("@a"), at("@a")): 1}


def test_narrow_stores_always_create_values_at_their_word(run: Run) -> None:
    body = """
  %a = load i8, ptr @a
  %p = getelementptr i8, ptr @b, i64 6
  store i8 %a, ptr %p
  %h = load i16, ptr %p
  %w = zext i16 %h to i32
  store i32 %w, ptr @c
"""
    text = "@a = global i8 1\n@b = global [8 x i8] zeroinitializer\n@c = global i32 0"
    assert run(text, body=body).chains == {chain(at("@b", 4), at("@a")): 1, chain(at("@c"), at("@b", 4)): 1}


def test_vector_stores_make_one_chain_per_element(run: Run) -> None:
    body = """
  %v = load <2 x double>, ptr @a
  %w = fadd <2 x double> %v, splat (double 1.0)
  store <2 x double> %w, ptr @b
"""
    text = "@a = global <2 x double> zeroinitializer\n@b = global <2 x double> zeroinitializer"
    result = run(text, body=body)
    sources = (at("@a", 0), at("@a", 8))
    assert result.chains == {chain(at("@b", 0), *sources): 1, chain(at("@b", 8), *sources): 1}
    assert result.flops == 2


def test_pointers_carry_nothing(run: Run) -> None:
    body = """
  %p = load ptr, ptr @p
  store ptr %p, ptr @q
  %i = ptrtoint ptr %p to i64
  store i64 %i, ptr @n
"""
    text = "@x = global i32 0\n@p = global ptr @x\n@q = global ptr null\n@n = global i64 0"
    assert run(text, body=body).chains == {chain(at("@n")): 1}


def test_recursion_tells_activations_apart(run: Run) -> None:
    text = """
@x = global i32 3
define i32 @f(i32 %n) {
entry:
  %slot = alloca i32
  %m = add i32 %n, 1
  store i32 %m, ptr %slot
  %stop = icmp sgt i32 %n, 3
  br i1 %stop, label %base, label %again
base:
  br label %out
again:
  %l = load i32, ptr %slot
  %r = call i32 @f(i32 %l)
  br label %out
out:
  %v = load i32, ptr %slot
  ret i32 %v
}
"""
    body = "  %x = load i32, ptr @x\n  %r = call i32 @f(i32 %x)\n  store i32 %r, ptr @x"
    outer, inner = Home("stack", "@f/%slot", 0, 0), Home("stack", "@f/%slot", 1, 0)
    # The result of @f is an exact copy of its outermost slot, so the last store replicates.
    assert run(text, body=body).chains == {chain(outer, at("@x")): 1, chain(inner, outer): 1}


def test_atomics_are_load_operation_store(run: Run) -> None:
    body = """
  %a = load i32, ptr @a
  %o = atomicrmw add ptr @s, i32 %a seq_cst
  store i32 %o, ptr @old
  %p = cmpxchg ptr @s, i32 3, i32 %a seq_cst seq_cst
  %x = atomicrmw xchg ptr @t, i32 %a seq_cst
"""
    text = "@a = global i32 2\n@s = global i32 1\n@t = global i32 0\n@old = global i32 0"
    result = run(text, body=body)
    # The old value and the exchanged ones are exact copies.
    assert result.chains == {chain(at("@s"), at("@s"), at("@a")): 1}
    assert (result.loads, result.stores) == (1, 1)

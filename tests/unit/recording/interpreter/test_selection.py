"""Selections: which conditions are sources of the values they choose, derived by hand."""

from tests.unit.recording.interpreter.chains import Run, at, chain


def test_a_phi_after_an_inevitable_block_is_not_selected_by_an_outer_branch(run: Run) -> None:
    # %flag decides between %one and %two, both lead to %mid; only %inner selects at %join.
    text = """
@flag = global i32 1
@inner = global i32 0
@out = global i32 0
define i32 @main() {
entry:
  %f = load i32, ptr @flag
  %c = icmp eq i32 %f, 0
  br i1 %c, label %one, label %two
one:
  br label %mid
two:
  br label %mid
mid:
  %g = load i32, ptr @inner
  %e = icmp eq i32 %g, 0
  br i1 %e, label %yes, label %no
yes:
  br label %join
no:
  br label %join
join:
  %r = phi i32 [ 7, %yes ], [ 8, %no ]
  store i32 %r, ptr @out
  ret i32 0
}
"""
    assert run(text).chains == {chain(at("@out"), control=(at("@inner"),)): 1}


def test_select_takes_the_chosen_operand_and_its_condition(run: Run) -> None:
    text = "@a = global i32 1\n@b = global i32 2\n@c = global i32 3\n@out = global i32 0\n"
    body = """
  %a = load i32, ptr @a
  %b = load i32, ptr @b
  %c = load i32, ptr @c
  %t = icmp sgt i32 %c, 0
  %s = select i1 %t, i32 %a, i32 %b
  store i32 %s, ptr @out
"""
    assert run(text, body=body).chains == {chain(at("@out"), at("@a"), control=(at("@c"),)): 1}
    # Without control flows the select is a copy of @a: nothing flows.
    assert run(text, body=body, control_flows=False).chains == {}

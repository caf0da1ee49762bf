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

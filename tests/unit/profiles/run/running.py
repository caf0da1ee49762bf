"""Profiles of programs that are written in IR, so that every number can be counted by hand."""

from pathlib import Path

from commanalyzer.foundation.progress import SilentProgress
from commanalyzer.profiles.run.measure import ProfileRequest, profile_program
from commanalyzer.profiles.values import RankProfile
from commanalyzer.request import AnalysisRequest


def profile_of(
    source: str,
    folder: Path,
    *arguments: str,
    suffix: str = ".c",
    is_exact: bool = True,
    windows: tuple[int, ...] = (),
) -> RankProfile:
    """Profile of a program."""
    path = folder / f"program{suffix}"
    path.write_text(source)
    program = AnalysisRequest((path,), arguments, program_output="discard", allow_failure=True)
    request = ProfileRequest(program, is_exact=is_exact, windows=windows)
    return profile_program(request, SilentProgress()).profile.ranks[0]


def loop(body: str, times: int, phis: str = "", before: str = "") -> str:
    """A program whose ``main`` executes ``body`` so many times, with ``%i`` from 0."""
    return f"""
@cell = global [65536 x i8] zeroinitializer, align 128
define i32 @main() {{
entry:
  {before}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  {phis}
  {body}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {times}
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}
"""

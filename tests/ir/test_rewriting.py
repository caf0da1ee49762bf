"""Plans applied to small modules: hooks in order, valid IR out, never twice."""

import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from commanalyzer.foundation.errors import InstrumentationError
from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.instrument.plan import PlanOptions, plan_module
from commanalyzer.recording.instrument.rewrite import MOST_INLINED, rewrite

FOLDER = Path(__file__).parent
HOOK = re.compile(r"call \w+ @ca_(\w+)\(")


def instrumented(name: str) -> str:
    """The rewritten text of ``name.ll``, parsed and verified by LLVM."""
    module = parse_module((FOLDER / f"{name}.ll").read_text())
    text = rewrite(module, plan_module(module, PlanOptions()))
    llvm.parse_assembly(text).verify()
    return text


def hooks_by_block(text: str, function: str) -> dict[str, list[str]]:
    """Hooks per block of a function, in printed order."""
    body = text[text.index(f"@{function}(") :]
    found: dict[str, list[str]] = {}
    block = ""
    for line in body[: body.index("\n}")].splitlines():
        if label := re.match(r"([\w.]+):", line):
            block = label[1]
        elif hook := HOOK.search(line):
            found.setdefault(block, []).append(hook[1])
    return found


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.ll")))
def test_result_is_valid_and_refused_a_second_time(name: str) -> None:
    text = instrumented(name)
    module = parse_module(text)
    with pytest.raises(InstrumentationError, match="already instrumented"):
        rewrite(module, plan_module(module, PlanOptions()))


def test_prefix_sum_names_every_partial_sum() -> None:
    hooks = hooks_by_block(instrumented("prefix_sum"), "scan")
    assert hooks["loop"] == ["count_block", "load", "join", "row_1"]


def test_reduction_is_collected_and_named_behind_the_loop() -> None:
    hooks = hooks_by_block(instrumented("reduction"), "sum")
    assert hooks == {
        "entry": ["count_block", "accumulator_reset"],
        "loop": ["count_block", "load", "term_1"],
        "back": ["count_block"],
        "exit": ["accumulator_close", "row_1", "accumulator_free"],
    }


def test_copy_looks_up_both_words_before_anything_else_is_stored() -> None:
    text = instrumented("copy")
    assert hooks_by_block(text, "move")["entry"] == ["count_block", "load", "load_high", "row_0", "copy_8"]
    assert "@small = global i8 0, align 4" in text
    assert "@pair = global i16 0, align 4" in text


def test_labels_of_an_invoke_are_read_where_it_continues() -> None:
    text = instrumented("unwind")
    hooks = hooks_by_block(text, "caller")
    assert hooks["normal"] == ["count_block", "store_unknown"]
    assert hooks["pad"] == ["count_block", "row_0"]
    assert text.index("landingpad") < text.index("@ca_count_block", text.index("\npad:"))


def test_local_arrays_leave_the_stack() -> None:
    text = instrumented("local_arrays")
    assert "%fixed = getelementptr inbounds i8, ptr %ca.frame, i64 0" in text
    assert re.search(r"%ca\.\d+ = alloca double, i64 %n", text)  # marks how long the array lives
    assert re.search(r"%open = call ptr @ca_local\(i32 \d+, i64 %ca\.\d+, i64 %ca\.\d+\)", text)
    assert "lifetime.start.p0(ptr %fixed)" not in text
    assert hooks_by_block(text, "work")["entry"] == ["frame", "count_block", "local", "row_0", "row_0"]


def _adds(name: str, count: int) -> str:
    """A function that stores ``count`` values, and as many in a loop in a loop."""
    lines = [f"define void @{name}(ptr %p, i1 %c) {{"]
    for label, branch in (("entry", "label %outer"), ("outer", "label %inner"), ("inner", "")):
        lines.append(f"{label}:")
        for v in (f"{label}{k}" for k in range(count)):
            lines += [f"  %v{v} = load double, ptr %p", f"  %w{v} = fadd double %v{v}, 1.0"]
            lines.append(f"  store double %w{v}, ptr %p")
        lines.append(f"  br {branch or 'i1 %c, label %inner, label %latch'}")
    return "\n".join([*lines, "latch:", "  br i1 %c, label %outer, label %end", "end:", "  ret void", "}"])


def test_hooks_are_inlined_in_innermost_loops_of_functions_with_few() -> None:
    module = parse_module("\n".join((_adds("small", 20), _adds("large", MOST_INLINED))))
    text = rewrite(module, plan_module(module, PlanOptions()))
    for name, is_called in (("small", False), ("large", True)):
        outside, inside = text[text.index(f"@{name}(") :].split("\ninner:")[:2]
        rows = re.findall(r"call void @ca_row_\d\(.*", outside)
        assert rows
        assert all(row.endswith(" noinline") for row in rows)
        rows = re.findall(r"call void @ca_row_\d\(.*", inside.split("\nlatch:")[0])
        assert {row.endswith(" noinline") for row in rows} == {is_called}

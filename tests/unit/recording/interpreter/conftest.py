from collections.abc import Sequence

import pytest

from commanalyzer.program.ir.parsing.parser import parse_module
from commanalyzer.recording.interpreter.run import InterpretedRun, interpret
from tests.unit.recording.interpreter.chains import Run


@pytest.fixture
def run() -> Run:
    """Return a function that interprets IR text; ``body`` of ``@main`` alone is enough."""

    def run_text(
        text: str, arguments: Sequence[str] = (), *, body: str = "", control_flows: bool = True
    ) -> InterpretedRun:
        if body:
            text += f"\ndefine i32 @main() {{\nentry:\n{body}\n  ret i32 0\n}}\n"
        return interpret(parse_module(text), arguments, control_flows=control_flows)

    return run_text

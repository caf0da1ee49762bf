"""``commanalyzer cc``, ``c++``, ``fc`` and the programs of these names: drop-in compilers.

Everything after the name belongs to the compiler, so no option parser comes in between, and nothing is
imported that the compiler does not need: a wrapper starts for every source file of a project.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commanalyzer.cli.interrupts import raise_at_interrupt
from commanalyzer.foundation.errors import EXIT_INTERRUPTED, CommAnalyzerError

if TYPE_CHECKING:
    from commanalyzer.program.frontend.toolchain import Language

WRAPPERS: dict[str, Language] = {"cc": "c", "c++": "c++", "fc": "fortran"}


def run_compiler(language: Language, words: list[str]) -> int:
    """Exit status of the compiler for ``language``, called with ``words``."""
    from commanalyzer.program.frontend.drivers.wrapper import run_wrapper

    try:
        raise_at_interrupt()
        return run_wrapper(language, words, _warn)
    except CommAnalyzerError as error:
        print(f"error: {error.text}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def cc() -> int:
    """``commanalyzer-cc``."""
    return run_compiler("c", sys.argv[1:])


def cxx() -> int:
    """``commanalyzer-c++``."""
    return run_compiler("c++", sys.argv[1:])


def fc() -> int:
    """``commanalyzer-fc``."""
    return run_compiler("fortran", sys.argv[1:])


def _warn(sentence: str) -> None:
    print(f"commanalyzer: warning: {sentence}", file=sys.stderr)

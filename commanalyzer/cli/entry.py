"""Start of the installed ``commanalyzer``: compiler wrappers do without the option parser."""

from __future__ import annotations

import sys

from commanalyzer.cli.compilers import WRAPPERS, run_compiler
from commanalyzer.foundation.heap import keep_freed_memory


def main() -> int:
    """Exit status of the command line."""
    if len(sys.argv) > 1 and sys.argv[1] in WRAPPERS:
        return run_compiler(WRAPPERS[sys.argv[1]], sys.argv[2:])
    keep_freed_memory()
    from commanalyzer.cli.main import main as run

    return run()

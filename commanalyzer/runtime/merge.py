"""Child process: instrumented module and shim bitcode in, one optimisable module out.

Run as ``python -m commanalyzer.runtime.merge OUTPUT MODULE SHIM...``; LLVM may abort on damaged IR, a child
keeps that away from the user's session. Messages go to standard error, the exit status is 0, 1 (the module
is at fault) or 3 (the output cannot be written).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from commanalyzer.abi.hooks import PREFIX

# read by the separately compiled part of the shim
_SHARED = ("ca_state", "ca_multipliers")


def merge(module_path: Path, shim_paths: Sequence[Path]) -> str:
    """Link the shim's inlined part into the instrumented module.

    Raises:
        RuntimeError: LLVM's message when a module does not parse, verify or link.
    """
    module = llvm.parse_assembly(module_path.read_text())
    module.verify()
    for path in shim_paths:
        shim = llvm.parse_bitcode(path.read_bytes())
        shim.triple = module.triple
        shim.data_layout = module.data_layout
        module.link_in(shim)
    for function in module.functions:
        if function.name.startswith(PREFIX) and not function.is_declaration and function.name not in _SHARED:
            function.linkage = "internal"
    module.verify()
    return str(module)


def main(arguments: Sequence[str]) -> int:
    """Write the merged module to the first argument."""
    output, module, *shims = (Path(a) for a in arguments)
    try:
        output.write_text(merge(module, shims))
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.strerror}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

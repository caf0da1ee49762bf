"""Options that a compiler does not know: which they are is asked of the compiler itself.

Projects are written for gcc or gfortran, and the compiler that a wrapper chooses is another one. The answer
is kept: all sources of a project have the same options.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from commanalyzer.program.frontend.cache import cached_file, content_key
from commanalyzer.program.frontend.drivers import option_table as table
from commanalyzer.program.frontend.drivers.command import CompilerCommand
from commanalyzer.program.frontend.drivers.underlying import Underlying
from commanalyzer.program.frontend.toolchain import run_tool

_TIMEOUT_S = 60.0
_REFUSED = re.compile(
    r"error: .*?(?:unknown argument|unknown clang option|unknown warning option|unsupported option|"
    r"unsupported argument|optimization flag):? ['\"](-[^'\"]+)['\"]",
    re.IGNORECASE,
)


def refused_options(messages: str) -> frozenset[str]:
    """Options that the compiler's messages call unknown or unsupported."""
    return frozenset(_REFUSED.findall(messages))


def without_unknown(
    command: CompilerCommand, underlying: Underlying
) -> tuple[CompilerCommand, tuple[str, ...]]:
    """The command without the options that its compiler does not know, and these options.

    Raises:
        ConfigError: If the cache is not usable.
    """
    asked = [
        argument.name
        for argument in command.arguments
        if not argument.language
        and len(argument.words) == 1
        and argument.name.startswith(table.KNOWN_BY_SOME_PREFIXES)
        and not argument.name.startswith((*table.FOR_OTHER_TOOLS_PREFIXES, *table.OPENMP))
        and not argument.name.startswith(table.LINK_TIME_OPTIMISATION)
    ]
    if not asked or not command.sources:
        return command, ()
    unknown = frozenset(_asked_of(underlying, asked))
    arguments = tuple(a for a in command.arguments if a.language or a.name not in unknown)
    return replace(command, arguments=arguments), tuple(dict.fromkeys(n for n in asked if n in unknown))


def _asked_of(underlying: Underlying, options: Sequence[str]) -> list[str]:
    program = Path(shutil.which(underlying.command[0]) or underlying.command[0])
    state = program.stat()
    identity = [str(program), str(state.st_size), str(state.st_mtime_ns), *underlying.command]
    key = content_key(["unknown options", *identity, "|", *options])

    def produce(draft: Path) -> None:
        draft.write_text(json.dumps(_unknown(underlying, options)))

    found: list[str] = json.loads(cached_file(key, ".json", produce).read_text())
    return found


def _unknown(underlying: Underlying, options: Sequence[str]) -> list[str]:
    """Some compilers name all unknown options at once, others the first one."""
    language = "f95-cpp-input" if underlying.language == "fortran" else underlying.language
    left, unknown = list(options), set[str]()
    while True:
        command = [*underlying.command, *left, "-E", "-x", language, "/dev/null"]
        output = run_tool(command, timeout_s=_TIMEOUT_S)
        refused = set() if output.ok else refused_options(output.stderr) & set(left)
        if not refused:
            return sorted(unknown)
        unknown |= refused
        left = [option for option in left if option not in refused]

"""Exception tree of the package; imports nothing.

Every error that a user can cause says what was expected, what was found, where, and what to do. The
command line prints those four fields and maps the class to a documented exit code.
"""

from __future__ import annotations

import re

EXIT_OK = 0
EXIT_USER_ERROR = 1
EXIT_USAGE = 2
EXIT_TARGET_FAILED = 3
EXIT_INCOMPLETE = 4
EXIT_WORSE = 5
EXIT_INTERRUPTED = 130
EXIT_INTERNAL = 70

# A line of a message that is longer is cut in the middle: tools quote whole lines of generated code.
_LONGEST_LINE = 400
_OPTION = re.compile(r"(commanalyzer .*)|(?<![\w-])--([a-z][a-z-]*)")


class CommAnalyzerError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What went wrong, one sentence: expected and found.
        where: File, line, function or instruction; empty when it is not tied to a place.
        hint: What the user can do about it; empty when there is nothing to do.
    """

    exit_code = EXIT_USER_ERROR

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        self.message = "\n".join(map(_shortened, message.split("\n")))
        super().__init__(self.message)
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """Place and hint in Python's words: ``--memory-limit`` is ``memory_limit``; commands stay."""
        texts = (self.where, self.hint)  # the message may quote a compiler
        return self._with(*(_OPTION.sub(lambda x: x[1] or x[2].replace("-", "_"), text) for text in texts))

    @property
    def text(self) -> str:
        """Place, message and hint, in the words of the command line."""
        return self._with(self.where, self.hint)

    def _with(self, where: str, hint: str) -> str:
        place = f"{where}: " if where else ""
        return f"{place}{self.message}" + (f"\n  hint: {hint}" if hint else "")


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    kept = _LONGEST_LINE // 2
    return f"{line[:kept]} [{len(line) - 2 * kept} characters] {line[-kept:]}"


class ConfigError(CommAnalyzerError):
    """An option, argument or configuration value is not usable."""


class CompileError(CommAnalyzerError):
    """The user's source did not compile; the message carries the compiler's last lines."""


class IrError(CommAnalyzerError):
    """LLVM IR could not be read or verified."""


class UnsupportedIrError(IrError):
    """The IR is valid but uses a construct that cannot be analysed."""


class InstrumentationError(CommAnalyzerError):
    """Instrumentation produced or was given an unusable module (already instrumented, or our bug)."""


class RuntimeBuildError(CommAnalyzerError):
    """Building the runtime shim or linking the instrumented program failed."""


class TargetRunError(CommAnalyzerError):
    """The analysed program failed, timed out or exceeded its memory limit."""

    exit_code = EXIT_TARGET_FAILED


class TraceError(CommAnalyzerError):
    """A recorded trace is damaged, truncated or of another version."""


class ArtifactError(CommAnalyzerError):
    """A saved file is not of the expected kind or version, or cannot be written."""


class GraphInvariantError(CommAnalyzerError):
    """A conservation law of the value graph does not hold: a bug of this program."""

    exit_code = EXIT_INTERNAL


class PartitionError(CommAnalyzerError):
    """Partitioning was asked for something impossible, or the partitioner failed."""


class ProfileError(CommAnalyzerError):
    """A profile is not as its format says, or a program cannot be profiled."""


class MachineModelError(CommAnalyzerError):
    """A machine parameter is missing, out of range or of an unknown unit."""


class FitError(CommAnalyzerError):
    """A scaling law cannot be fitted to the data, or is asked for something that it does not describe."""

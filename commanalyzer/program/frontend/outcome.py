"""What the canonicalising child process reports to its parent; imports no LLVM."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from commanalyzer.foundation.errors import CompileError, ConfigError, InstrumentationError, IrError

_ERROR_KINDS = {c.__name__: c for c in (CompileError, ConfigError, InstrumentationError, IrError)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """An error (``kind`` is its class name) or the IR names of the regions."""

    kind: str = ""
    message: str = ""
    where: str = ""
    hint: str = ""
    regions: tuple[str, ...] = ()

    def raise_if_failed(self) -> None:
        """Raise the reported error as the class it had in the child."""
        if self.kind:
            raise _ERROR_KINDS.get(self.kind, IrError)(self.message, where=self.where, hint=self.hint)


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Write the report as JSON."""
    path.write_text(json.dumps(asdict(outcome)))


def read_outcome(path: Path) -> Outcome | None:
    """The child's report, ``None`` if it did not live to write one."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return Outcome(**{**data, "regions": tuple(data["regions"])})

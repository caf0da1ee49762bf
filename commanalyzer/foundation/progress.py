"""How long computations report where they are; implementations live in ``report``."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the name of each stage and, within it, steps done."""

    def stage(self, name: str, steps: int = 1) -> None:
        """A stage begins (and ends the one before); ``steps`` calls of :meth:`advance` complete it."""
        return

    def advance(self, steps: int = 1) -> None:
        """``steps`` of the current stage are done."""
        return


class SilentProgress(Progress):
    """Progress that nobody watches."""

"""Writes the probes of a preview's rounds, see :mod:`commanalyzer.instrument.iterations.round_probes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commanalyzer.instrument.code import FunctionPatch
from commanalyzer.instrument.inspectors.preview_storage import PreviewStorage
from commanalyzer.instrument.inspectors.previews import Previewed
from commanalyzer.instrument.iterations.round_probes import RoundProbe
from commanalyzer.instrument.loops.loop_code import TOKEN
from commanalyzer.instrument.loops.loop_names import block_at
from commanalyzer.instrument.loops.repeat_guards import as_i64
from commanalyzer.ir.model import Instruction

Named = Callable[[str], str]


class RoundProbeWriter:
    """Writes a block in front of each round of a preview, and one that takes the place of known rounds.

    The first addresses and the last ones of known rounds are not noted; those of earlier previews are kept
    with what is known of the rounds, and a preview goes on with them.

    Args:
        patch: Gives names to registers.
        plan: The loop.
        probe: What to compute.
        number: Of the loop in its function.
        named: Gives the name of a register or label in the preview.
    """

    def __init__(
        self, patch: FunctionPatch, plan: Previewed, probe: RoundProbe, number: int, named: Named
    ) -> None:
        self._patch = patch
        self._plan = plan
        self._probe = probe
        self._named = named
        self._same = block_at("same", plan.loop.header, number)
        self._extremes = f"%ca.extremes.{number}"
        self.label = block_at("round", plan.loop.header, number)
        self.instructions = probe.first
        self.written = frozenset(i.name for i in probe.first)

    def begin(self, out: list[str], storage: PreviewStorage, slots: range) -> None:
        """Go on with the addresses that were noted before."""
        found = self._patch.call(out, "ca_rounds_extremes")
        self._patch.value(out, f"inttoptr i64 {found} to ptr", result=self._extremes)
        kept = PreviewStorage(self._patch, self._extremes)
        for slot in slots:
            storage.set(out, slot, kept.get(out, slot - slots.start))

    def keep(self, out: list[str], storage: PreviewStorage, slots: range) -> None:
        """Keep the addresses that are noted now."""
        kept = PreviewStorage(self._patch, self._extremes)
        for slot in slots:
            kept.set(out, slot - slots.start, storage.get(out, slot))

    def terminated(self, terminator: str) -> str:
        """The end of a block: a round begins with its probe."""
        body = self._named(f"%{self._plan.loop.header}")
        return TOKEN.sub(lambda m: self.label if m[0] == body else m[0], terminator)

    def roots(self, out: list[str]) -> list[str]:
        """The roots as i64."""
        types = {name: self._plan.computed[name].type for name in self._probe.roots}
        return [as_i64(self._patch, out, self._named(name), types[name]) for name in self._probe.roots]

    def entering(self, phi: Instruction, text: str) -> str:
        """A register that enters a round, which may come behind one that is known."""
        ways = zip(phi.operands, phi.incoming, strict=True)
        value = next(self._named(o.text) for o, block in ways if block == self._plan.loop.latches[0])
        return f"{text}, [ {value}, {self._same} ]"

    def blocks(self, first: list[str], found: str, over: list[str], end: str, behind: str) -> Iterator[str]:
        """The probe and what comes instead of a round that is known; where other rounds go on.

        Args:
            first: What the probe computes.
            found: Hash of the round.
            over: Lines at the end of a known round.
            end: Terminator of the block that leaves the loop.
            behind: Where it leads then.
        """
        targets = {self._named(f"%{self._plan.ends.exit}"): behind}
        targets[self._named(f"%{self._plan.loop.latches[0]}")] = self.label
        end = TOKEN.sub(lambda m: targets.get(m[0], m[0]), end)
        body = self._named(f"%{self._plan.loop.header}")
        asked: list[str] = []
        known = self._patch.call(asked, "ca_round_known", found)
        is_known = self._patch.value(asked, f"icmp ne i32 {known}, 0")
        yield from ("", f"{self.label[1:]}:", *first, *asked)
        yield f"  br i1 {is_known}, label {self._same}, label {body}"
        yield from ("", f"{self._same[1:]}:", *over, self.terminated(end))
        yield from ("", f"{body[1:]}:")

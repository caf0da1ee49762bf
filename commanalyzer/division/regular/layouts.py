"""Regular divisions: which arrays are cut along which of their dimensions, on every grid of parts.

The arrays that do the work are cut, others may be cut with those of their shape or follow. A division begins
with the arrays of one shape; where others that do work have other shapes, these are cut one after the other
as costs least beside what is cut before: on their own grids, along the dimensions that meet the same parts
(component alignment: Li, Chen, Frontiers of Massively Parallel Computation, 1990). What a division costs is
guessed by a :class:`Sketch`; the few that may be best are left to be counted.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from commanalyzer.division.regular.grids import Blocks, Spread, fits, grid_name, process_grids, surface
from commanalyzer.division.regular.shapes import Shaped
from commanalyzer.division.regular.sketch import Sketch, Sums
from commanalyzer.graph.storage.store import AnyGraph
from commanalyzer.graph.value_graph import Float64, Int32, Int64

_IDLE = 0.03  # of the work: arrays with less together follow, and so does a part; the balance limit has room
_LEADING = 0.5  # of the most work that arrays of one shape do: a division begins with such
_STARTS = 4  # grids that are tried in other ways, and beside which other arrays are cut
_NEARLY = 1.1  # times the least bytes by the guess, which is hardly that wrong
_KEPT = 3  # for each number of cut dimensions, of those that are cut alike
_OTHERS = 6  # that are counted at most where all of the likeliest send more than these by their guess
_BESIDE = 4  # after all of a family, some of them, and those that do work: with others beside them


@dataclass(frozen=True, slots=True)
class CutArrays:
    """Arrays of one shape and where they are cut."""

    blocks: Blocks
    grid: tuple[int, ...]  # number of blocks along each dimension
    spread: Spread

    @property
    def shape_rank(self) -> int:
        """The less, the likelier users know this shape: the one that the program shows, else the simplest."""
        is_shown = any(s.is_known and s.components == 1 for s in self.blocks.members)
        return -len(self.grid) if is_shown else len(self.grid)

    def cuts(self) -> tuple[Int64, ...]:
        """Return what each coordinate adds to the part."""
        return self.blocks.cuts(self.grid, self.spread)


@dataclass(frozen=True, slots=True)
class Cut:
    """A regular division and what it costs by a sketch; the same list for graphs of all sizes.

    Names are ``blocks 4x4``, ``slabs 16``, ``cyclic 4x4``; where there are several, with the shape of what is
    cut, or the array that has most of it.
    """

    pieces: tuple[CutArrays, ...]  # all other values follow
    part: Int32  # [S], of each value of the sketch
    load: Float64  # [p], work of each part
    comm_bytes: float  # by the guess; where nothing guesses them, the surface of the blocks
    imbalance: float  # largest part's work over the mean
    keeps_terms: bool = False  # the arrays are the factors of sums, which follow
    name: str = ""

    @property
    def cut_dims(self) -> int:
        """Number of dimensions that are divided, of the arrays that are cut first."""
        return sum(g > 1 for g in self.pieces[0].grid)

    @property
    def plainness(self) -> tuple[int, int, bool, int]:
        """The less, the simpler to write."""
        first = self.pieces[0]
        return self.cut_dims, first.shape_rank, first.spread == "cyclic", len(self.pieces)

    @property
    def grain(self) -> float:
        """Work of the largest block over the mean that whole rows make; see :meth:`Blocks.grain`."""
        return self.pieces[0].blocks.grain(self.pieces[0].grid)

    def score(self, allowed: float) -> float:
        """Bytes, times the imbalance where it is far above the limit: refinement mends a little."""
        over = self.imbalance / allowed
        return self.comm_bytes * (over if over > _NEARLY else 1.0)

    def owners(self, num_vertices: int) -> Int32:
        """Return int32[V], owners of the elements; -1 for all other values."""
        owner = np.full(num_vertices, -1, np.int32)
        for piece in self.pieces:
            piece.blocks.fill(piece.cuts(), owner)
        return owner


class Layouts:
    """Regular divisions of one graph.

    Without a ``sketch``, which guesses their costs, the surface of blocks does; ``sums`` are those of
    products, where known.
    """

    def __init__(
        self,
        graph: AnyGraph,
        families: Sequence[Sequence[Shaped]],
        sketch: Sketch | None,
        sums: Sums | None = None,
    ) -> None:
        self._graph, self._families, self._sketch, self._sums = graph, families, sketch, sums
        self._known: dict[tuple[int, ...], tuple[Blocks, _Places]] = {}

    @cached_property
    def _work(self) -> dict[int, float]:
        """Work on each array, by its identity; the same for all where that is not known."""
        arrays = {id(s.array): s.array for family in self._families for s in family}
        if self._sketch is None:
            return dict.fromkeys(arrays, 1.0)
        return {key: float(self._sketch.work[array.vertex].sum()) for key, array in arrays.items()}

    @cached_property
    def heavy(self) -> frozenset[int]:
        """Identities of the arrays that do the work."""
        order = sorted(self._work, key=lambda key: -self._work[key])
        before = np.cumsum([0.0, *(self._work[key] for key in order)])
        least = 1.0 if self._sketch is None else 1.0 - _IDLE
        return frozenset(k for k, done in zip(order, before, strict=False) if done < least * before[-1])

    def cuts(self, num_parts: int, allowed: float) -> tuple[list[Cut], list[Cut]]:
        """Return the divisions that may be best, by number of cut dimensions the likeliest first; and others.

        A part may have ``allowed`` times the mean work. The others are balanced, in order of their guesses:
        what lies between values that nothing leads is not guessed, so the likeliest may send more than they.
        """
        work = [sum(self._work[id(s.array)] for s in family) for family in self._families]
        ways: dict[tuple[int, bool], list[Cut]] = defaultdict(list)
        for family, done in zip(self._families, work, strict=True):
            for way, members in self._variants(family) if done >= _LEADING * max(work) else ():
                found = self._beginnings(members, num_parts, allowed)
                rest = self.heavy - {id(s.array) for s in members}
                # what arrays that are left out cost is not guessed: such seem cheaper than they are
                ways[way, not rest] += found
                if rest and self._sketch is not None:
                    found.sort(key=lambda g: g.score(allowed))
                    begun = found[: 2 * _STARTS]
                    ways[_BESIDE, True] += [self._beside(g, rest, num_parts, allowed) for g in begun]
        complete = ways[_BESIDE, True] or [g for guesses in ways.values() for g in guesses]
        least = min((guess.score(allowed) for guess in complete), default=math.inf)
        sums = list(self._along_sums(num_parts, _NEARLY * least))
        chosen = [
            g
            for (way, _), guesses in (*ways.items(), ((_BESIDE, True), sums))
            for g in _likeliest(guesses, allowed, each_dims=way == 0)
        ]
        chosen.sort(key=lambda g: g.plainness)
        different: dict[object, Cut] = {}
        for guess in chosen:  # where as much is moved with fewer arrays that are cut, the others follow there
            alike: object = (guess.cut_dims, guess.comm_bytes, guess.imbalance)
            different.setdefault(alike if self._sketch is not None else id(guess), guess)
        likely = [self._named(guess) for guess in different.values()]
        seen = {(guess.comm_bytes, guess.imbalance) for guess in chosen}
        others = {
            (guess.comm_bytes, guess.imbalance): guess
            for guess in sorted(itertools.chain(*ways.values()), key=lambda g: g.plainness, reverse=True)
            if guess.imbalance <= allowed and (guess.comm_bytes, guess.imbalance) not in seen
        }
        return likely, [self._named(others[key]) for key in sorted(others)[:_OTHERS]]

    def _variants(self, family: Sequence[Shaped]) -> list[tuple[int, tuple[Shaped, ...]]]:
        """All of a family that does work, those of one value per point, those that do it, the first of these.

        The entries of a sparse matrix may only look like so many per point: their number is a multiple. Of
        two arrays of a shape, one may be the transpose of the other: it follows, or is cut on its own grid.
        """
        heavy = tuple(s for s in family if id(s.array) in self.heavy)
        single = tuple(s for s in family if s.components == 1)
        found: dict[tuple[int, ...], tuple[int, tuple[Shaped, ...]]] = {}
        first = tuple(sorted(heavy, key=lambda s: -self._work[id(s.array)])[:1])
        for way, members in enumerate((tuple(family), single, heavy, first)):
            if heavy and (way == 0 or any(map(self._is_named, members))):
                found.setdefault(tuple(map(id, members)), (way, members))
        return list(found.values())

    def _beginnings(self, members: tuple[Shaped, ...], num_parts: int, allowed: float) -> list[Cut]:
        """Guesses that begin with some arrays: on all grids, the best of these in other ways as well."""
        blocks = self._blocks(members)
        extents = blocks.extents
        grids = [g for g in process_grids(num_parts, len(extents)) if fits(g, extents)]
        grids.sort(key=lambda g: (surface(g, extents), g))
        even = [self._guess((CutArrays(blocks, g, "points"),), num_parts) for g in grids]
        rank = sorted(range(len(even)), key=lambda i: even[i].score(allowed))
        chosen = rank if self._sketch is not None else rank[:_STARTS]
        found = [even[i] for i in chosen]
        has_dims = len(extents) == 1 or any(s.is_known for s in members)
        for i in rank[:_STARTS]:
            grid, cuts = grids[i], even[i].pieces[0].cuts()
            # where points are uneven, by work and, along dimensions that the program has, one by one
            spreads: tuple[Spread, ...] = ("work", "cyclic") if even[i].imbalance > allowed else ("work",)
            for spread in spreads[: 2 if has_dims else 1]:
                piece = CutArrays(blocks, grid, spread)
                if not all(map(np.array_equal, piece.cuts(), cuts)):
                    found.append(self._guess((piece,), num_parts))
        return found

    def _along_sums(self, num_parts: int, most_bytes: float) -> Iterator[Cut]:
        """Yield guesses that cut the factors of long sums where all terms stay: parts send partial sums."""
        if self._sums is None or (comm_bytes := self._sums.comm_bytes * (num_parts - 1)) > most_bytes:
            return
        factor = self._sums.is_factor
        known = [s for f in self._families for s in f if len(s.extents) > 1 and factor[s.array.vertex].any()]
        # where an array has rows of its own, points of several components are a guess
        known.sort(key=lambda s: s.components > 1)
        factors: dict[int, Shaped] = {id(s.array): s for s in reversed(known)}
        largest = max(factors.values(), key=lambda s: len(s.array.vertex), default=None)
        for extent in dict.fromkeys(largest.extents if largest is not None else ()):
            groups: dict[tuple[int, ...], list[Shaped]] = {}
            for shaped in factors.values():
                groups.setdefault(shaped.extents, []).append(shaped)
            pieces = tuple(
                CutArrays(self._blocks(tuple(group)), grid, "points")
                for extents, group in groups.items()
                if extent in extents and extent >= num_parts
                for grid in [
                    tuple(num_parts if d == extents.index(extent) else 1 for d in range(len(extents)))
                ]
            )
            cut = Cut(pieces, np.zeros(0, np.int32), np.zeros(num_parts), comm_bytes, 1.0, keeps_terms=True)
            one, other = cut.owners(self._graph.num_vertices)[self._sums.pairs]
            if 2 * np.count_nonzero((one == other) & (one >= 0)) > len(one):  # it is what is summed over
                yield cut

    def _beside(self, guess: Cut, rest: Iterable[int], num_parts: int, allowed: float) -> Cut:
        """Return ``guess`` with the other arrays that do work, cut as costs least one after the other."""
        left = set(rest)
        for family in self._families:
            members = tuple(s for s in family if id(s.array) in left)
            if not members:
                continue
            blocks = self._blocks(members)
            tried = [
                self._guess((*guess.pieces, CutArrays(blocks, g, spread)), num_parts, guess)
                for g in process_grids(num_parts, len(blocks.extents))
                if fits(g, blocks.extents)
                for spread in dict.fromkeys(("points", guess.pieces[0].spread))
            ]
            if tried:
                guess = min(tried, key=lambda g: g.score(allowed))
                left -= {id(s.array) for s in members}
        return guess

    def _guess(self, pieces: tuple[CutArrays, ...], num_parts: int, known: Cut | None = None) -> Cut:
        """Return what ``pieces`` cost; all but the last of them are those of ``known``."""
        piece = pieces[-1]
        if self._sketch is None:
            area = surface(piece.grid, piece.blocks.extents)
            return Cut(pieces, np.zeros(0, np.int32), np.zeros(num_parts), area, 1.0)
        part = np.full(len(self._sketch.value), -1, np.int32) if known is None else known.part.copy()
        load = np.zeros(num_parts) if known is None else known.load.copy()
        places, cuts = self._known[tuple(map(id, piece.blocks.members))][1], piece.cuts()
        places.enter(cuts, part, load)
        total = float(load.sum())
        imbalance = float(load.max()) * num_parts / total if total > 0 else 1.0
        return Cut(pieces, part, load, float(self._sketch.comm_bytes(part, num_parts)), imbalance)

    def _blocks(self, members: tuple[Shaped, ...]) -> Blocks:
        key = tuple(map(id, members))
        if key not in self._known:
            blocks = Blocks(self._graph, members, None if self._sketch is None else self._sketch.work)
            self._known[key] = blocks, _Places(blocks, self._sketch)
        return self._known[key][0]

    def _named(self, guess: Cut) -> Cut:
        shapes = [len(family[0].extents) for family in self._families]
        cut = {id(s) for s in guess.pieces[0].blocks.members}
        family = next((f for f in self._families if cut < set(map(id, f))), ())
        left = [s for s in family if id(s) not in cut]
        several = len(guess.pieces) > 1 or shapes.count(len(guess.pieces[0].grid)) > 1
        is_one = several or any(s.components == 1 and id(s.array) in self.heavy for s in left)
        text = " and ".join(self._text(piece, is_one) for piece in guess.pieces)
        if guess.keeps_terms:
            text += ", sums follow"
        elif left:
            text += ", entries follow" if all(s.components > 1 for s in left) else ", others follow"
        text += " by work" if any(piece.spread == "work" for piece in guess.pieces) else ""
        return replace(guess, name=text)

    def _is_named(self, shaped: Shaped) -> bool:
        return self._graph.objects[shaped.array.number].is_named

    def _text(self, piece: CutArrays, is_one_of_several: bool) -> str:
        """Name of a piece; a shape that the source does not show is one as which an array is seen."""
        grid, members = piece.grid, piece.blocks.members
        kind = piece.spread if piece.spread == "cyclic" else "blocks" if len(grid) > 1 else "slabs"
        by_shape, shape = f"{kind} {grid_name(grid)}", grid_name(piece.blocks.extents)
        is_known = any(s.is_known for s in members if s.extents == piece.blocks.extents)
        if not is_one_of_several and (is_known or len(grid) == 1):
            return by_shape
        own = list(filter(self._is_named, members)) or members
        named = max(own, key=lambda s: (s.components == 1, self._work[id(s.array)], len(s.array.vertex)))
        name = self._graph.objects[named.array.number].name
        of = f"of {name}" if named.components == 1 else f"of rows of {name}"
        if len(grid) > 1 and is_known:
            return f"{by_shape} {of}[{shape}]"
        names = [self._graph.objects[n].name for n in {s.array.number for f in self._families for s in f}]
        last = max((d for d, count in enumerate(grid) if count > 1), default=0)
        is_one_after_the_other = grid[:last] == piece.blocks.extents[:last] and kind == "blocks"
        if names.count(name) > 1 or not (last == 0 or is_one_after_the_other):
            return f"{by_shape} {of} as {shape}"
        return f"{kind.replace('blocks', 'slabs')} {math.prod(grid)} {of}"  # whatever its rows are


class _Places:
    """Where the values of a sketch are in some arrays, and the work on these; see :class:`Blocks`."""

    def __init__(self, blocks: Blocks, sketch: Sketch | None) -> None:
        self._values: list[tuple[int, Int32, list[NDArray[np.unsignedinteger]]]] = []
        self._work: dict[int, Float64] = {}
        for number, shaped in blocks.points() if sketch is not None else ():
            assert sketch is not None
            array, extents = shaped.array, shaped.extents
            slot = sketch.slot[array.vertex]
            known = np.flatnonzero(slot >= 0)
            at = shaped.coordinates(known)
            begins, short = np.cumsum((0, *extents[:-1])), np.min_scalar_type(sum(extents))
            places = [(c + s).astype(short) for c, s in zip(at, begins, strict=True)]
            self._values.append((number, slot[known], places))
            work = self._work.setdefault(number, np.zeros(extents))
            work += shaped.on_points(sketch.work[array.vertex])

    def enter(self, cuts: Sequence[Int64], part: Int32, load: Float64) -> None:
        """Write the parts of the values, and add the work of each part, for some cuts."""
        for number, slot, places in self._values:  # one step per array
            part[slot] = sum(cuts[number][place] for place in places)
        for number, work in self._work.items():  # one step per extents
            along = np.split(cuts[number], np.cumsum(work.shape)[:-1])
            load += np.bincount(np.ravel(sum(np.ix_(*along))), np.ravel(work), len(load))


def _likeliest(found: Sequence[Cut], allowed: float, *, each_dims: bool) -> Iterator[Cut]:
    """Yield the best of some guesses.

    With ``each_dims`` the best for each number of cut dimensions as well. Fewer nodes would do where a part
    has hardly any work, as where members of structures are divided of which one is computed.
    """
    busy = [g for g in found if g.load.min() >= _IDLE * g.load.mean()] or found
    ranked = sorted(busy, key=lambda g: (g.score(allowed), max(g.imbalance, allowed), g.pieces[0].shape_rank))
    seen: dict[int, int] = defaultdict(int)
    for guess in ranked:
        seen[guess.cut_dims] += 1
        near = guess.score(allowed) <= _NEARLY * ranked[0].score(allowed)
        if (each_dims and seen[guess.cut_dims] == 1) or (near and seen[guess.cut_dims] <= _KEPT):
            yield guess

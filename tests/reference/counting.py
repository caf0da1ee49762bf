"""Plain-Python counters, written from the definitions with dicts and sets: the oracle of the fast ones."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from commanalyzer.graph.value_graph import ValueGraph

Pair = tuple[int, int]
Counts = tuple[int, int, int]
"""How often something is sent: at least, most likely, at most."""
RowTuple = tuple[int, int, bool, bool, list[list[int]]]
RowKey = tuple[int, frozenset[Pair], bool]


@dataclass
class Tally:
    """Rows because of which a value is needed (or contributed to) by a part."""

    rows: dict[Pair, set[int]] = field(default_factory=lambda: defaultdict(set))

    def need(self, value: int, part: int, row: int) -> None:
        self.rows[(value, part)].add(row)


@dataclass
class Term:
    """A term computable in one part that is not the sink's owner; hubs beside others are no operands."""

    row: int
    home: int
    operands: list[int]
    hubs: list[int]


def rows_of(graph: ValueGraph) -> list[RowTuple]:
    """Return (sink, count, foldable, accumulates, terms) for every row."""
    result = []
    for r in range(graph.num_rows):
        terms = []
        for t in range(int(graph.rows.term_ptr[r]), int(graph.rows.term_ptr[r + 1])):
            terms.append(graph.rows.source[graph.rows.source_ptr[t] : graph.rows.source_ptr[t + 1]].tolist())
        result.append(
            (
                int(graph.rows.row_sink[r]),
                int(graph.rows.row_count[r]),
                bool(graph.rows.row_fold[r]),
                bool(graph.rows.row_accumulates[r]),
                terms,
            )
        )
    return result


def volume_transfers(
    graph: ValueGraph, part: Sequence[int], hubs: Sequence[bool]
) -> tuple[dict[Pair, Counts], dict[Pair, Counts]]:
    """Return expand {(value, reading part): counts} and fold {(sink, part): counts}.

    Terms whose operands several parts own are computed by the sink's owner, or may be computed where most of
    the operands are that the fewest terms read, unless partial sums are read: what costs less for all rows
    together.
    """
    rows = rows_of(graph)
    readers = Counter(v for *_, row_terms in rows for sources in row_terms for v in sources)
    chosen = {term.row for term in split_terms(graph, part, hubs, readers)[1]}
    both = (transfers_with(graph, part, hubs, each, chosen) for each in (None, readers))
    return min(both, key=lambda items: sum(bytes_of(graph, each) for each in items))


def bytes_of(graph: ValueGraph, items: dict[Pair, Counts]) -> int:
    """Bytes of transfers, most likely."""
    return sum(count * int(graph.width_bytes[value]) for (value, _), (_, count, _) in items.items())


def transfers_with(
    graph: ValueGraph,
    part: Sequence[int],
    hubs: Sequence[bool],
    readers: Mapping[int, int] | None,
    chosen_rows: set[int],
) -> tuple[dict[Pair, Counts], dict[Pair, Counts]]:
    """Return the transfers where terms may be computed at the rarest of several operands by ``readers``.

    Rows that leave a choice (``chosen_rows``) are looked at after all others.
    """
    rows = rows_of(graph)
    forced, terms = split_terms(graph, part, hubs, readers)
    groups = grouped(rows, terms)
    sent = {key: most_seen(graph, key[0], needs, rows) for key, needs in forced.rows.items()}
    chosen = set(cheapest_expansion(graph, part, rows, groups, sent))
    expanded = Tally(defaultdict(set, {k: set(v) for k, v in forced.rows.items()}))
    for g, members in enumerate(groups):
        for term in members:
            dest = part[rows[term.row][0]] if g in chosen else term.home
            for v in [v for v in term.operands + term.hubs if part[v] != dest]:
                expanded.need(v, dest, term.row)
    folds = Tally()
    for term in (t for g, members in enumerate(groups) if g not in chosen for t in members):
        folds.need(rows[term.row][0], term.home, term.row)
    return (
        {key: brackets(graph, key[0], needs, rows, chosen_rows) for key, needs in expanded.rows.items()},
        {key: fold_bracket(graph, key[0], needs, rows) for key, needs in folds.rows.items()},
    )


def home_of(plain: list[int], part: Sequence[int], readers: Mapping[int, int] | None) -> int:
    """Return the part that may compute a term with these operands, -1 for none."""
    homes = {part[v] for v in plain}
    if len(homes) > 1:
        fewest = min(readers[v] for v in plain) if readers else 0
        owned = Counter(part[v] for v in plain if readers and readers[v] == fewest)
        homes = {home for home, often in owned.items() if often == max(owned.values())}
    return homes.pop() if len(homes) == 1 else -1


def split_terms(
    graph: ValueGraph, part: Sequence[int], hubs: Sequence[bool], readers: Mapping[int, int] | None
) -> tuple[Tally, list[Term]]:
    """Return what must be expanded to the sink's owner, and the terms that one other part can compute."""
    forced, rows = Tally(), rows_of(graph)
    terms: list[Term] = []
    for r, (sink, _, foldable, reads_itself, row_terms) in enumerate(rows):
        owner, goes_on = part[sink], versions_read(graph, sink, rows) > max(rounds_of(graph, sink, rows), 1)
        for sources in row_terms:
            plain = [v for v in sources if not hubs[v]] or (sources if foldable and len(sources) == 1 else [])
            home = home_of(plain, part, readers if foldable and not goes_on else None)
            is_sent = readers is not None and not reads_itself and len(sources) > 1  # not what it is made of
            if (foldable or is_sent) and home not in (-1, owner):
                terms.append(Term(r, home, plain, [v for v in sources if v not in plain]))
                continue
            for v in [v for v in sources if part[v] != owner]:
                forced.need(v, owner, r)
    return forced, terms


def grouped(rows: list[RowTuple], terms: list[Term]) -> list[list[Term]]:
    """Terms that one message can carry."""
    accumulating = {(rows[t.row][0], t.home) for t in terms if rows[t.row][3]}
    groups: dict[tuple[int, int, int], list[Term]] = defaultdict(list)
    for t in terms:
        pair = (rows[t.row][0], t.home)
        groups[(*pair, -1 if pair in accumulating else t.row)].append(t)
    return list(groups.values())


def cheapest_expansion(
    graph: ValueGraph,
    part: Sequence[int],
    rows: list[RowTuple],
    groups: list[list[Term]],
    sent: dict[Pair, int],
) -> tuple[int, ...]:
    """Groups to expand: of all choices the one of least bytes, of these the one that expands most groups.

    Groups that share no operand sent to one part do not change each other's bytes: choices of each set of
    groups that do are tried by themselves, or their number would be a power of two of all groups.
    """
    chosen: list[int] = []
    for every in related(part, rows, groups):
        choices = (c for k in reversed(range(len(every) + 1)) for c in combinations(every, k))
        cost = partial(choice_bytes, graph, part, rows, groups, sent, every)
        best: tuple[int, ...] = min(choices, key=cost)
        chosen.extend(best)
    return tuple(chosen)


def related(part: Sequence[int], rows: list[RowTuple], groups: list[list[Term]]) -> list[list[int]]:
    """Sets of groups that are connected by operands which they would send to the same part."""
    sets: list[tuple[set[Pair], list[int]]] = []
    for g, members in enumerate(groups):
        uses = {(v, part[rows[t.row][0]]) for t in members for v in t.operands}
        joined = [each for each in sets if each[0] & uses]
        sets = [each for each in sets if not each[0] & uses]
        sets.append((uses.union(*(u for u, _ in joined)), sorted([g, *(i for _, m in joined for i in m)])))
    return [members for _, members in sets]


def choice_bytes(
    graph: ValueGraph,
    part: Sequence[int],
    rows: list[RowTuple],
    groups: list[list[Term]],
    sent: dict[Pair, int],
    every: list[int],
    chosen: tuple[int, ...],
) -> int:
    """Bytes of expanding the ``chosen`` groups and folding the others of ``every``.

    An operand that is sent counts as often as any of ``every`` group needs it, whichever are chosen: so the
    choice is a least cut.
    """
    total, uses, sends = 0, dict[Pair, int](), set[Pair]()
    for g, members in ((g, groups[g]) for g in every):
        sink = rows[members[0].row][0]
        for term, v in ((t, v) for t in members for v in t.operands if part[v] != part[sink]):
            uses[v, part[sink]] = max(uses.get((v, part[sink]), 0), rows[term.row][1])
            sends |= {(v, part[sink])} if g in chosen else set()
        if g not in chosen:
            often = min(max(rows[t.row][1] for t in members), sums_needed(graph, sink, rows))
            if (seen := versions_read(graph, sink, rows)) > sums_needed(
                graph, sink, rows
            ):  # between contributions
                often = max(often, min(sum(rows[r][1] for r in {t.row for t in members}), seen))
            total += often * int(graph.width_bytes[sink])
    for v, dest in sends:
        u, have, versions = uses[v, dest], sent.get((v, dest), 0), max(int(graph.versions[v]), 1)
        more = min(u, versions) - min(have, versions) if have else u
        total += max(more, 0) * int(graph.width_bytes[v])
    return total


def brackets(graph: ValueGraph, value: int, needs: set[int], rows: list[RowTuple], late: set[int]) -> Counts:
    """How often a value is sent to one part."""
    versions = max(int(graph.versions[value]), 1)
    rounds = min(rounds_of(graph, value, rows), versions)
    total, most = sum(rows[r][1] for r in needs), most_seen(graph, value, needs, rows)
    read = versions_read(graph, value, rows)
    finished = versions if read > rounds_of(graph, value, rows) else rounds
    most_at_all = finished if most <= finished else versions
    steps = [c for _, c, foldable, _, terms in rows if not foldable and any(value in term for term in terms)]
    given = int(graph.is_input[value]) + sum(c for s, c, _, _, terms in rows if s == value and not any(terms))
    made = [c for s, c, _, _, _ in rows if s == value] or [1]
    certain = versions - max(made) * (made.count(max(made)) - 1)
    if max(steps, default=0) < int(graph.versions[value]):
        certain -= given
    low = min(most, max(certain, min(max(made), versions)))
    told = in_order(graph, value, sorted(needs, key=lambda r: (r in late, r)), rows)
    return low, max(min(most, versions), min(told, most_at_all, read)), min(total, most_at_all)


def in_order(graph: ValueGraph, value: int, needs: list[int], rows: list[RowTuple]) -> int:
    """Versions of the value that rows see, others behind each that makes it; 0 if one sees all there are."""
    if versions_read(graph, value, rows) <= max(c for _, c, _, _, ts in rows if any(value in t for t in ts)):
        return 0
    makers = [r for r, (sink, *_, terms) in enumerate(rows) if sink == value and any(terms)]
    total, seen, last, goes_on = 0, 0, 0, False
    for r in needs:
        period = sum(m < r for m in makers)
        made = rows[makers[period - 1]][1] if period else 1
        if period != last:  # a row that goes on sees what is made last
            goes_on = goes_on and period == last + 1
            seen = made if goes_on and period == len(makers) else 0
        count = most_seen(graph, value, {r}, rows)
        new = count - seen if 2 * count > made else count
        new = max(new if count > made else min(new, made - seen), 0)
        total, seen, last, goes_on = total + new, seen + new, period, goes_on or (period > 0 and count > made)
    return total


def most_seen(graph: ValueGraph, value: int, needs: set[int], rows: list[RowTuple]) -> int:
    """Versions of the value that the row that sees most of them sees."""
    versions, counts = max(int(graph.versions[value]), 1), [rows[r][1] for r in needs]
    again = [math.ceil(c / versions) for c in counts]  # how often a row reads what it sees
    return max(c // n if c % n == 0 else versions for c, n in zip(counts, again, strict=True))


def versions_read(graph: ValueGraph, value: int, rows: list[RowTuple]) -> int:
    """Versions of the value that rows read, in their order."""
    makers = [r for r, (sink, *_, terms) in enumerate(rows) if sink == value and any(terms)]
    is_given = graph.is_input[value] or any(s == value and not any(terms) for s, *_, terms in rows)
    total, made, seen, early = 0, int(is_given), 0, 0
    for r, (_, often, _, _, terms) in enumerate(rows):
        if r in makers:  # rows before read some, in later rounds: what nobody else reads
            unread = 0 if seen else min(early, made)
            behind = min(early - unread, often) if r == makers[-1] else 0  # or the last ones
            total, early = total + unread + behind, early - unread - behind
            made, seen = often, behind if len(makers) == 1 or not behind else often
        elif any(value in term for term in terms):
            found = max(min(often - (seen if 2 * often > made else 0), made - seen), 0)
            total, seen, early = total + found, seen + found, max(early, often - made)
    return total


def rounds_of(graph: ValueGraph, value: int, rows: list[RowTuple]) -> int:
    """Versions made without reading the previous one."""
    return int(graph.is_input[value]) + sum(c for s, c, _, acc, _ in rows if s == value and not acc)


def sums_needed(graph: ValueGraph, sink: int, rows: list[RowTuple]) -> int:
    """Once in each round; a sum that goes on is needed where its most frequent reader reads it."""
    reads = (count for _, count, _, _, terms in rows if any(sink in t for t in terms))
    return max(rounds_of(graph, sink, rows), 1, *reads)


def fold_bracket(graph: ValueGraph, sink: int, needs: set[int], rows: list[RowTuple]) -> Counts:
    """How often one part contributes to a sink."""
    rounds = max(rounds_of(graph, sink, rows), 1)
    counts = [rows[r][1] for r in needs]
    reads = [count for _, count, _, _, terms in rows for t in terms for v in t if v == sink]
    often = max(max(counts), sum(rows[r][1] for r in needs if not rows[r][3]))
    between = sums_needed(graph, sink, rows)
    low, read = min(often, between), versions_read(graph, sink, rows)
    periods = rounds + sum(reads) if often > between or read > rounds else rounds
    high = max(low, min(sum(counts), periods))
    return min(low, read or low * int(rounds == 1 or not graph.is_register[sink])), low, high


def matrix_of(
    graph: ValueGraph,
    part: Sequence[int],
    num_parts: int,
    expand: dict[Pair, Counts],
    fold: dict[Pair, Counts],
) -> tuple[list[list[int]], list[list[int]]]:
    """Return bytes and messages."""
    volume = [[0] * num_parts for _ in range(num_parts)]
    rounds: dict[tuple[int, int, int], dict[tuple[int, bool, int], int]] = {}
    main, hops = main_sites(graph), hops_of(graph, part)
    for items, sends in ((expand, True), (fold, False)):
        for (value, other), (_, count, _) in items.items():
            i, j = (part[value], other) if sends else (other, part[value])
            volume[i][j] += count * int(graph.width_bytes[value])
            per_array = rounds.setdefault((i, j, main[value]), {})
            key = int(graph.home_object[value]), sends, hops[value]
            per_array[key] = max(per_array.get(key, 0), count)
    messages = [[0] * num_parts for _ in range(num_parts)]
    for (i, j, _), per_array in rounds.items():
        needed = 0
        for home in {home for home, _, _ in per_array}:
            both = [sum(n for (h, kind, _), n in per_array.items() if (h, kind) == (home, k)) for k in (0, 1)]
            needed += max(both)
        messages[i][j] = max(messages[i][j], needed)
    return volume, messages


def hops_of(graph: ValueGraph, part: Sequence[int]) -> list[int]:
    """How often values of its own array went to another part on the longest way to each value."""
    private, rows = (graph.is_register | graph.is_temporary).tolist(), rows_of(graph)
    once = [rounds_of(graph, v, rows) <= 1 for v in range(graph.num_vertices)]
    known = {v: (int(graph.home_object[v]), 0) for v in range(graph.num_vertices) if not private[v]}
    for sink, _, _, _, terms in rows:
        for v in (v for term in terms for v in term if v != sink and v in known and once[v]):
            array, hops = known[v][0], known[v][1] + (part[v] != part[sink])
            if (
                (hops > known[sink][1] and (private[sink] or array == known[sink][0]))
                if sink in known
                else True
            ):
                known[sink] = array, hops
    return [known.get(v, (-1, 0))[1] for v in range(graph.num_vertices)]


def main_sites(graph: ValueGraph) -> list[int]:
    """Site that most often stores to each vertex, the latest on a tie; -1 for none."""
    best: dict[int, tuple[int, int, int]] = {}
    for row in range(graph.num_rows):
        found = (int(graph.rows.row_count[row]), row, int(graph.rows.row_site[row]))
        sink = int(graph.rows.row_sink[row])
        best[sink] = max(best.get(sink, found), found)
    return [best[v][2] if v in best else -1 for v in range(graph.num_vertices)]


def hpdc18_transfers(graph: ValueGraph, part: Sequence[int], singleton: Sequence[bool]) -> dict[Pair, Counts]:
    """Return {(value, reading part): counts} of Algorithm 4 without singletons."""
    rows = rows_of(graph)
    tally = Tally()
    for r, (sink, _, _, _, terms) in enumerate(rows):
        for v in (v for term in terms for v in term):
            if not singleton[v] and not singleton[sink] and part[v] != part[sink]:
                tally.need(v, part[sink], r)
    return {key: brackets(graph, key[0], needs, rows, set()) for key, needs in tally.rows.items()}


def dissolved_rows(graph: ValueGraph, gone: Sequence[bool]) -> dict[RowKey, int]:
    """Return {(sink, {(source, role)}, own previous version read): count} without vertices in ``gone``."""
    direct: dict[int, set[Pair]] = defaultdict(set)
    entries = entries_of(graph)
    for sink, found in zip(graph.rows.row_sink.tolist(), entries, strict=True):
        direct[sink] |= set(found)
    result: dict[RowKey, int] = defaultdict(int)
    for r, found in enumerate(entries):
        sink = int(graph.rows.row_sink[r])
        if gone[sink]:
            continue
        best: dict[int, int] = {}
        for v, role in (pair for s, entry_role in found for pair in reach(direct, gone, s, entry_role)):
            best[v] = min(best.get(v, 2), role)
        own = bool(graph.rows.row_accumulates[r]) or sink in best
        best.pop(sink, None)
        result[(sink, frozenset(best.items()), own)] += int(graph.rows.row_count[r])
    return dict(result)


def entries_of(graph: ValueGraph) -> list[list[Pair]]:
    """Return (source, role) of every entry of every row."""
    start = graph.rows.row_ptr.tolist()
    flat = list(zip(graph.rows.source.tolist(), graph.rows.source_role.tolist(), strict=True))
    return [flat[start[r] : start[r + 1]] for r in range(graph.num_rows)]


def reach(direct: dict[int, set[Pair]], gone: Sequence[bool], source: int, role: int) -> set[Pair]:
    """Return the values at the end of all paths, each with the weakest role of its path."""
    if role == 2:
        return set()
    if not gone[source]:
        return {(source, role)}
    return {pair for v, inner in direct[source] for pair in reach(direct, gone, v, max(role, inner))}

"""Files of profiles (``*.pisa``): the JSON of Appendix A, written and read.

Input and output: :class:`Profile` and a file. Fields of Table 1 that a file does not have get their defaults
and are named in :attr:`RankProfile.missing`; what the format does not know (errors of sampled distances,
branches by length of the history, remarks) stands in fields of its own, which its other readers skip.

Reference: *IBM Exascale Extrapolator manual*, Table 1 and Appendix A (fields of a thread: A.1 to A.6).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from commanalyzer.foundation.documents import (
    Fields,
    Parsed,
    document_text,
    number,
    parse_json,
    plain,
    reading,
    typed,
)
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.values import (
    DATA_INDEX,
    DATA_TYPES,
    ILP_TYPES,
    INDEX,
    SCALAR_TYPES,
    TOTALS,
    TYPES,
    VECTOR_LENGTHS,
    Branches,
    Exchange,
    Float64,
    Footprint,
    InstructionMix,
    Parallelism,
    Profile,
    RankProfile,
    Reuse,
    Spans,
    no_instructions,
)


def any_number(value: Parsed) -> float:
    """A number of a file; older ones have some as text."""
    return float(value) if isinstance(value, str) else number(value)


def given_number(value: Parsed) -> float:
    """A number >= 0; ``TypeError`` if it is none, ``ValueError`` if it is negative, or text that is none."""
    found = any_number(value)
    if not found >= 0:
        raise ValueError(f"expected a number that is not negative, found {value}")
    return found


def objects(value: Parsed) -> list[Fields]:
    """Objects of a list; one alone may stand without it; ``TypeError`` if it is something else."""
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TypeError(f"expected a list of objects, found {type(value).__name__}")
    return items


POINT_TO_POINT = "p2pCommunicationRoutines"
_GROUPS = {
    "collectiveCommunicationRoutines": (
        *("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv"),
        *("Alltoall", "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Scan", "Exscan"),
        *("Ibarrier", "Ibcast", "Igather", "Iallgather", "Ialltoall", "Ireduce", "Iallreduce"),
    ),
    POINT_TO_POINT: (
        *("Send", "Recv", "Isend", "Irecv", "Sendrecv", "Ssend", "Bsend", "Rsend", "Issend", "Ibsend"),
        *("Irsend", "Sendrecv_replace", "Send_init", "Recv_init", "Start", "Startall", "Probe", "Iprobe"),
        *("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"),
    ),
}  # fmt: skip
_OTHERS = "otherRoutines"
_EXCHANGED = ("sent_bytes", "received_bytes", "sent_messages", "received_messages")


def read_calls(given: Parsed) -> dict[str, float]:
    """Calls by function."""
    return {} if given is None else {str(name): given_number(v) for name, v in given.items()}


def write_mpi_calls(calls: Mapping[str, float], missing: Collection[str] = ()) -> Fields:
    """``mpiInstructionMix``: calls by group and function, and all of them; unknown groups are left out."""
    group_of = {f"MPI_{name}": group for group, names in _GROUPS.items() for name in names}
    groups: dict[str, dict[str, float]] = {group: {} for group in (*_GROUPS, _OTHERS)}
    for name in ("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Bcast", "MPI_Barrier", "MPI_Reduce"):
        if group_of[name] not in missing:
            groups[group_of[name]][name] = 0  # readers of the format expect them
    for name, count in sorted(calls.items()):
        groups[group_of.get(name, _OTHERS)][name] = plain(count)
    known = {group: content for group, content in groups.items() if group not in missing}
    return {"MPI_instructions_analyzed": plain(sum(calls.values())), **known}


def read_mpi_calls(given: Parsed) -> dict[str, float]:
    """Calls by MPI function; functions that were not called are left out."""
    result: dict[str, float] = {}
    for content in () if given is None else given.values():
        if isinstance(content, dict):
            result.update({str(name): n for name, v in content.items() if (n := given_number(v))})
    return result


def write_parallelism(entries: Sequence[Parallelism]) -> list[Fields]:
    """``ilp``: one object per window; 0 is no limit."""
    return [
        {"windowSize": e.window, "statistics": _spans(e.out_of_order), "in-order": _spans(e.in_order)}
        for e in entries
    ]


def _spans(spans: Spans) -> Fields:
    result: Fields = {}
    for i, name in enumerate(ILP_TYPES):
        suffix = f"_{name}" if i else ""
        result[f"span{suffix}"] = plain(spans.span[i])
        result[f"arithmetic_mean{suffix}"] = float(spans.mean[i])
    return result


def read_parallelism(given: Parsed) -> tuple[Parallelism, ...]:
    """Parallelism by window."""
    return tuple(
        Parallelism(
            int(given_number(e["windowSize"])), *map(_read_spans, (e["statistics"], e.get("in-order", {})))
        )
        for e in objects([] if given is None else given)
    )


def _read_spans(given: Fields) -> Spans:
    suffixes = ["", *(f"_{name}" for name in ILP_TYPES[1:])]
    span = np.array([given_number(given.get(f"span{s}", 0)) for s in suffixes])
    mean = np.array([given_number(given.get(f"arithmetic_mean{s}", 0)) for s in suffixes])
    return Spans(span, mean)


def write_reuse(entries: Sequence[Reuse], name: str) -> list[Fields]:
    """``dataReuseDistribution`` (``name`` is ``data``) or ``instReuseDistribution`` (``instructions``)."""
    result = []
    for entry in entries:
        distances = entry.distance.tolist()
        content: Fields = {"cacheLineSize": entry.line_bytes}
        if entry.instruction_bytes:
            content["instructionSize"] = entry.instruction_bytes
        content["statistics"] = {
            name: [[d, plain(c)] for d, c in zip(distances, entry.count, strict=True)],
            f"{name}CDF": [[d, float(c)] for d, c in zip(distances, entry.cdf, strict=True)],
        }
        content["accesses"] = plain(entry.accesses)
        content["standardError"] = float(entry.error)
        result.append(content)
    return result


def read_reuse(given: Parsed, name: str) -> tuple[Reuse, ...]:
    """Reuse by line size.

    A file that does not say how many accesses there were (the format has no field for it) tells it by its
    last entries: the counts' sum over the last value of the cumulative distribution.
    """
    result = []
    for each in objects([] if given is None else given):
        statistics = each["statistics"]
        pairs = [(int(given_number(d)), given_number(c)) for d, c in statistics.get(name, [])]
        cdf = [given_number(c) for _, c in statistics.get(f"{name}CDF", [])]
        total = sum(c for _, c in pairs)
        accesses = total / cdf[-1] if cdf and cdf[-1] else total
        result.append(
            Reuse(
                int(given_number(each["cacheLineSize"])),
                np.array([d for d, _ in pairs], dtype=np.int64),
                np.array([c for _, c in pairs], dtype=np.float64),
                given_number(each.get("accesses", accesses)),
                given_number(each.get("standardError", 0)),
                int(given_number(each.get("instructionSize", 0))),
            )
        )
    return tuple(result)


def write_footprint(footprint: Footprint) -> Fields:
    """``memoryFootprint``."""
    return {
        "shared_addresses_byte_granularity": plain(footprint.shared_bytes),
        "total_distinct_addresses_byte_granularity": plain(footprint.data_bytes),
        "shared_accesses": plain(footprint.shared_lines),
        "total_distinct_accesses_starting_addresses": plain(footprint.lines),
        "cache_line_size": footprint.line_bytes,
    }


def read_footprint(given: Parsed) -> Footprint:
    """Memory that is touched."""
    if given is None:
        return Footprint()
    return Footprint(
        given_number(given["total_distinct_addresses_byte_granularity"]),
        given_number(given.get("total_distinct_accesses_starting_addresses", 0)),
        int(given_number(given.get("cache_line_size", Footprint().line_bytes))),
        given_number(given.get("shared_addresses_byte_granularity", 0)),
        given_number(given.get("shared_accesses", 0)),
    )


def write_branches(branches: Branches) -> Fields:
    """``branchEntropy``: as the readers of the format know it, and by length of the history."""
    rows = list(zip(branches.history.tolist(), branches.entropy, branches.misprediction, strict=True))
    return {
        "bestMispredictionRate": branches.best_misprediction,
        "entropies": [{"history": h, "entropy": float(e)} for h, e, _ in rows],
        "mispredictions": [{"history": h, "rate": float(m)} for h, _, m in rows],
        "branches": plain(branches.executed),
    }


def read_branches(given: Parsed) -> Branches | None:
    """Predictability of branches; a single rate stands for a history of unknown length, written as 0."""
    if given is None:
        return None
    entropies = [[given_number(v) for v in each.values()] for each in objects(given.get("entropies", []))]
    rates = [[given_number(v) for v in each.values()] for each in objects(given.get("mispredictions", []))]
    best = given_number(given.get("bestMispredictionRate", 0))
    history = [int(row[0]) for row in entropies] or [0]
    entropy = [row[1] for row in entropies] or [0.0]
    misprediction = [row[1] for row in rates] if len(rates) == len(history) else [best] * len(history)
    return Branches(
        np.array(history, dtype=np.int64),
        np.array(entropy),
        np.array(misprediction),
        given_number(given.get("branches", 0)),
    )


def write_exchange(exchange: Exchange | None) -> tuple[Fields, list[Fields]]:
    """``mpiDataExchanged`` and ``mpiCommunicationVector``."""
    if exchange is None:
        return dict.fromkeys(_EXCHANGED, 0), []
    summary = {name: plain(value) for name, value in zip(_EXCHANGED, exchange.totals, strict=True)}
    summary.update({name: plain(v) for name, v in sorted(exchange.collective_bytes.items())})
    columns = (exchange.source.tolist(), exchange.received_bytes, exchange.received_messages)
    vector = [
        {"source": source, "received_bytes": plain(size), "received_messages": plain(messages)}
        for source, size, messages in zip(*columns, strict=True)
    ]
    return summary, vector


def read_exchange(summary: Parsed, vector: Parsed) -> Exchange | None:
    """Communication of both fields; ``None`` if neither is there."""
    if summary is None and vector is None:
        return None
    names = ("source", "received_bytes", "received_messages")
    rows = sorted([given_number(e[name]) for name in names] for e in objects(vector or []))
    source, sizes, messages = np.array(rows, dtype=np.float64).reshape(-1, len(names)).T
    known = summary or {}
    return Exchange(
        given_number(known.get("sent_bytes", 0)),
        given_number(known.get("sent_messages", 0)),
        source.astype(np.int64),
        sizes,
        messages,
        {name: given_number(v) for name, v in known.items() if name not in _EXCHANGED},
    )


_SUFFIX = "_instructions"
_MISC = DATA_INDEX["misc"]
_TYPED = DATA_TYPES[:_MISC]


def write_mix(mix: InstructionMix) -> Fields:
    """Content of the field: all instructions, then each type, sums of types included."""
    result: Fields = {"instructions_analyzed": plain(mix.instructions)}
    for name in TYPES:
        counts = mix.counts[INDEX[name]]
        if name in SCALAR_TYPES:
            result[name + _SUFFIX] = plain(counts.sum())
        else:
            result[name + _SUFFIX] = [_of_type(counts)]
    for name, types in TOTALS.items():
        result[name] = plain(mix.of(types).sum())
    return result


def _of_type(counts: Float64) -> Fields:
    per_length = counts[:, :_MISC].sum(axis=1)
    rows = [
        {
            "vector_size": length,
            **{name: plain(v) for name, v in zip(_TYPED, counts[i], strict=False)},
            "instructions": plain(per_length[i]),
        }
        for i, length in enumerate(VECTOR_LENGTHS)
        if not i or per_length[i]
    ]
    return {
        "total_instructions": plain(counts.sum()),
        "mix": rows,
        "scalar_instructions": plain(per_length[0]),
        "vector_instructions": plain(per_length[1:].sum()),
        "misc_instructions": plain(counts[:, _MISC].sum()),
    }


def read_mix(given: Parsed) -> InstructionMix:
    """Mix of the field's content.

    Instructions of a type that are in no row of its mix have no type of data. If the number of all
    instructions is larger than the sum of the types, the rest is of the type ``misc_other``. Raises
    ``TypeError`` if something is of another kind; ``ValueError`` if a number is negative; ``KeyError`` if a
    field is missing.
    """
    counts = no_instructions()
    if given is None:
        return InstructionMix(counts)
    for name in TYPES:
        content = given.get(name + _SUFFIX, 0)
        if isinstance(content, dict | list):
            for each in objects(content):
                _add(counts[INDEX[name]], each)
        else:
            counts[INDEX[name], 0, _MISC] += given_number(content)
    for name, types in TOTALS.items():  # files that know the sum only
        rest = _total(given.get(name, 0)) - counts[[INDEX[t] for t in types]].sum()
        counts[INDEX[types[0]], 0, _MISC] += max(rest, 0.0)
    rest = given_number(given["instructions_analyzed"]) - counts.sum()
    if rest > 1e-9 * counts.sum():
        counts[INDEX["misc_other"], 0, _MISC] += rest
    return InstructionMix(counts)


def _total(content: Parsed) -> float:
    if isinstance(content, dict | list):
        return sum(given_number(each["total_instructions"]) for each in objects(content))
    return given_number(content)


def _add(counts: Float64, content: Fields) -> None:
    total = given_number(content["total_instructions"])
    for row in objects(content.get("mix", [])):
        length = int(given_number(row["vector_size"]))
        place = min(int(np.searchsorted(VECTOR_LENGTHS, length)), len(VECTOR_LENGTHS) - 1)
        for name in _TYPED:
            counts[place, DATA_INDEX[name]] += given_number(row.get(name, 0))
    rest = total - counts.sum()
    if rest > 1e-9 * total:
        counts[0, _MISC] += rest


SCHEMA = "commanalyzer.profile/1"
SUFFIX = ".pisa"
FIELDS = (
    *("instructionMix", "openMPinstructionMix", "mpiInstructionMix", "ilp", "dataReuseDistribution"),
    *("instReuseDistribution", "memoryFootprint", "registerAccesses", "mpiDataExchanged"),
    *("mpiCommunicationVector", "externalLibraryCallCount"),
)
"""Fields of a thread that may be missing (Table 1 without its two mandatory ones)."""
logger = logging.getLogger(__name__)


def read_profile(path: Path) -> Profile:
    """Profile in a file; a warning (logged) names what is missing.

    Raises ``ProfileError`` if it cannot be read, is no JSON, or a field is not as Appendix A says.
    """
    hint = "a profile has application, appScale and threads (docs: profile files)"
    with reading(path, "a profile as in Appendix A", hint=hint, error=ProfileError):
        content = typed(parse_json(path.read_bytes(), is_finite=True), _File)
        scale = {name: float(value) for name, value in (content.scale or {}).items()}
        ranks = tuple(_rank(thread, i, str(path)) for i, thread in enumerate(content.threads))
        profile = Profile(content.application, scale, ranks, content.remarks)
    if content.scale is None:
        logger.warning("%s: appScale is missing; the profile gets no scaling parameters", path)
    for field in FIELDS:
        if not (count := sum(field in rank.missing for rank in profile.ranks)):
            continue
        of = "all threads" if count == len(profile.ranks) else f"{count} threads"
        logger.warning("%s: %s is missing in %s; it gets its default", path, field, of)
    return profile


def write_profile(profile: Profile, path: Path, *, force: bool = False) -> None:
    """Write a profile; ``ArtifactError`` if the file exists (without ``force``) or cannot be written."""
    write_text(path, profile_text(profile), force=force)


def profile_text(profile: Profile) -> str:
    """The document of a profile."""
    content: Fields = {
        "schema": SCHEMA,
        "application": profile.application,
        "appScale": {name: plain(value) for name, value in sorted(profile.scale.items())},
        "threads": [_thread(rank) for rank in profile.ranks],
    }
    if profile.remarks:
        content["remarks"] = list(profile.remarks)
    return document_text(content)


def read_profiles(paths: Iterable[Path]) -> tuple[Profile, ...]:
    """Profiles of files and of all ``*.pisa`` files in directories, in the order of their names.

    Raises ``ProfileError``: as :func:`read_profile`, or if a directory holds none.
    """
    found: list[Profile] = []
    for path in paths:
        inside = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not inside:
            raise ProfileError(f"expected files *{SUFFIX} in the directory, found none", where=str(path))
        found += map(read_profile, inside)
    return tuple(found)


class _File(msgspec.Struct, rename={"scale": "appScale"}):
    application: str
    threads: list[Fields]
    scale: dict[str, float | str] | None = None  # older files have numbers as text
    remarks: tuple[str, ...] = ()


def _rank(thread: Fields, place: int, where: str) -> RankProfile:
    """Profile of a thread; ``ProfileError`` if a field is not as expected."""
    for field in ("processId", "threadId"):
        if field not in thread:
            raise ProfileError(f"expected the mandatory field {field} in threads[{place}]", where=where)
    field = ""

    def given(name: str) -> Parsed:
        nonlocal field
        field = name
        return thread.get(name)

    try:
        accesses = given("registerAccesses")
        accesses = {"reads": 0, "writes": 0} if accesses is None else accesses
        reads, writes = given_number(accesses["reads"]), given_number(accesses["writes"])
        calls = given("mpiInstructionMix")
        unknown = () if calls is None or POINT_TO_POINT in calls else (POINT_TO_POINT,)
        exchanged, vector = thread.get("mpiDataExchanged"), given("mpiCommunicationVector")
        return RankProfile(
            process_id=int(any_number(given("processId"))),
            thread_id=int(any_number(given("threadId"))),
            exchange=read_exchange(exchanged, vector),
            mix=read_mix(given("instructionMix")),
            register_reads=reads,
            register_writes=writes,
            parallelism=read_parallelism(given("ilp")),
            data_reuse=read_reuse(given("dataReuseDistribution"), "data"),
            instruction_reuse=read_reuse(given("instReuseDistribution"), "instructions"),
            footprint=read_footprint(given("memoryFootprint")),
            branches=read_branches(given("branchEntropy")),
            mpi_calls=read_mpi_calls(given("mpiInstructionMix")),
            openmp_calls=read_calls(given("openMPinstructionMix")),
            library_calls=read_calls(given("externalLibraryCallCount")),
            missing=frozenset((*(name for name in FIELDS if name not in thread), *unknown)),
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise ProfileError(
            f"expected {field} as in Appendix A, found: {reason}", where=f"{where}, threads[{place}]"
        ) from error


def _thread(rank: RankProfile) -> Fields:
    exchanged, vector = write_exchange(rank.exchange)
    written: Fields = {
        "instructionMix": write_mix(rank.mix),
        "openMPinstructionMix": {name: plain(v) for name, v in sorted(rank.openmp_calls.items())},
        "mpiInstructionMix": write_mpi_calls(rank.mpi_calls, rank.missing),
        "ilp": write_parallelism(rank.parallelism),
        "dataReuseDistribution": write_reuse(rank.data_reuse, "data"),
        "instReuseDistribution": write_reuse(rank.instruction_reuse, "instructions"),
        "memoryFootprint": write_footprint(rank.footprint),
        "registerAccesses": {"reads": plain(rank.register_reads), "writes": plain(rank.register_writes)},
        "mpiDataExchanged": exchanged,
        "mpiCommunicationVector": vector,
        "externalLibraryCallCount": {name: plain(v) for name, v in sorted(rank.library_calls.items())},
    }
    if rank.branches is not None:
        written["branchEntropy"] = write_branches(rank.branches)
    if rank.exchange is None:
        del written["mpiDataExchanged"], written["mpiCommunicationVector"]
    kept = {name: value for name, value in written.items() if name not in rank.missing}
    return {"threadId": rank.thread_id, "processId": rank.process_id, **kept}

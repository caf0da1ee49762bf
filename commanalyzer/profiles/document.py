"""Files of profiles (``*.pisa``): the JSON of Appendix A, written and read.

Input and output: :class:`Profile` and a file. Fields of Table 1 that a file does not have get their defaults
and are named in :attr:`RankProfile.missing`; what the format does not know (errors of sampled distances,
branches by length of the history, remarks) stands in fields of its own, which its other readers skip.

Reference: *IBM Exascale Extrapolator manual*, Table 1 and Appendix A.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import msgspec

from commanalyzer.foundation.documents import Fields, Parsed, document_text, parse_json, plain, reading, typed
from commanalyzer.foundation.errors import ProfileError
from commanalyzer.foundation.files import write_text
from commanalyzer.profiles.fields import (
    POINT_TO_POINT,
    any_number,
    given_number,
    read_branches,
    read_calls,
    read_exchange,
    read_footprint,
    read_mix,
    read_mpi_calls,
    read_parallelism,
    read_reuse,
    write_branches,
    write_exchange,
    write_footprint,
    write_mix,
    write_mpi_calls,
    write_parallelism,
    write_reuse,
)
from commanalyzer.profiles.values import Profile, RankProfile

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

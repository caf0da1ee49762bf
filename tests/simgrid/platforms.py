"""Platforms with known bandwidth and latency, and measurements on them."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from commanalyzer.machine.measuring.phase_campaign import MeasuredPhase, read_points
from commanalyzer.machine.measuring.samples import Series, read_samples
from tests.native import ROOT, run

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")
needs_smpicc = pytest.mark.skipif(
    shutil.which("smpirun") is None or shutil.which("smpicc") is None or shutil.which("cc") is None,
    reason="SimGrid or a C compiler is not installed",
)


_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
# Times are then exactly latency + bytes / bandwidth: no factors fitted to some cluster, no flow control.
IDEAL = (
    *("--cfg=network/model:CM02", "--cfg=network/TCP-gamma:1e15", "--cfg=network/crosstraffic:0"),
    *("--cfg=network/weight-S:0", "--cfg=smpi/wtime:0", "--log=root.thresh:warning"),
)


def star(
    num_hosts: int,
    bandwidth: str,
    latency: str,
    *,
    backbone: str = "",
    overheads: dict[str, str] | None = None,
) -> str:
    """Hosts with one link per direction each.

    Args:
        latency: Of each link; a message crosses two.
        backbone: Bandwidth that all share, none if empty.
        overheads: SMPI's ``os`` (a send) and ``or`` (a receive), each ``SIZE:CONSTANT:PER_BYTE`` in seconds.
    """
    shared = f' bb_bw="{backbone}" bb_lat="0us" bb_sharing_policy="SHARED"' if backbone else ""
    properties = "".join(f'<prop id="smpi/{key}" value="{text}"/>' for key, text in (overheads or {}).items())
    return (
        f'{_HEAD}<cluster id="c" prefix="n" suffix="" radical="0-{num_hosts - 1}" speed="1Gf" '
        f'bw="{bandwidth}" lat="{latency}" sharing_policy="SPLITDUPLEX"{shared}>{properties}</cluster>\n'
        "</platform>\n"
    )


def two_leaves(bandwidth: str, latency: str) -> str:
    """Four hosts, two on each of two leaf switches; one link of the same speed from each leaf to the root."""
    return (
        f'{_HEAD}<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="{bandwidth}" '
        f'lat="{latency}" sharing_policy="SPLITDUPLEX" topology="FAT_TREE" '
        'topo_parameters="2;2,2;1,1;1,1"/>\n</platform>\n'
    )


def deployment(num_ranks: int, ranks_per_host: int = 1) -> str:
    """Ranks on the hosts in blocks."""
    actors = "".join(
        f'<actor host="n{rank // ranks_per_host}" function="rank"><prop id="instance_id" value="rank"/>'
        f'<prop id="rank" value="{rank}"/></actor>\n'
        for rank in range(num_ranks)
    )
    return f"{_HEAD}{actors}</platform>\n"


def measure_on(
    folder: Path,
    platform: str,
    num_ranks: int,
    plan: dict[str, object],
    *,
    hosts: Sequence[str] = (),
) -> tuple[Series, ...]:
    """Series of the measurement of a network, run on ``platform``.

    Args:
        num_ranks: Ranks, one per host.
        hosts: What each rank says its host is, for a measurement of a whole machine.
    """
    (folder / "platform.xml").write_text(platform)
    (folder / "deployment.xml").write_text(deployment(num_ranks))
    (folder / "job.json").write_text(json.dumps({"options": IDEAL, "plan": plan, "hosts": list(hosts)}))
    _run(folder)
    return read_samples(folder / "samples.json.gz")[0]


def campaign_on(
    folder: Path, platform: str, num_hosts: int, ranks_per_host: int, fields: dict[str, list[int]]
) -> tuple[MeasuredPhase, ...]:
    """Points of a campaign, run on ``platform`` with host names node-1, node-2, ...

    Args:
        folder: Place for files; a table that is there goes on.
        ranks_per_host: Ranks on each.
        fields: ``nodes``, ``processes``, ``messages`` and ``sizes`` of the points.
    """
    ranks = num_hosts * ranks_per_host
    hosts = [f"node-{rank // ranks_per_host + 1}" for rank in range(ranks)]
    plan = {"message_bytes": [8]}
    job = {"options": IDEAL, "plan": plan, "hosts": hosts, "campaign": fields}
    (folder / "platform.xml").write_text(platform)
    (folder / "deployment.xml").write_text(deployment(ranks, ranks_per_host))
    (folder / "job.json").write_text(json.dumps(job))
    _run(folder)
    return read_points(folder / "campaign.csv")


def _run(folder: Path) -> None:
    done = run(sys.executable, "-m", "tests.simgrid.measure", folder, cwd=ROOT, timeout_s=300)
    assert done.status == 0, done.stderr

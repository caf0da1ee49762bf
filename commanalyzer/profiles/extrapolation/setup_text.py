"""Writes a setup as TOML, to be edited; :mod:`commanalyzer.profiles.extrapolation.setup` reads it."""

from __future__ import annotations

from commanalyzer.profiles.extrapolation.data import TrainingData
from commanalyzer.profiles.extrapolation.proposals import default_terms
from commanalyzer.profiles.extrapolation.setup import MetricSetup, Setup

_HEAD = """\
# How models are made. Edit, then run `commanalyzer extrapolate` again: what has changed is trained again.
# Parameters: {parameters}. Numbers of threads: {counts}.
# Products of main terms of different parameters: "all", "selected" (with selected terms only) or "none".
interactions = "{interactions}"
# Every term is also tried divided by the number of threads, of all and of each class.
per_thread = {per_thread}

# Main terms per metric; "default" for all others.
[complexity]
"""
_METRICS = """
# type: numeric, vnumeric; instrPercentage, vinstrPercentage (the product with LSys is modelled); memFunction
# model: weighted, linear, neighbours, network, forest; of functions also levels, per-bin, per-bin-network
# terms: [] selects them; selection: accurate (ten-fold), fast (BIC), largest (larger runs from smaller ones)
"""
_EXAMPLE = """\
# [metrics.{name}.constraints]
# bounded_below = true
# increasing = ["{parameter}"]
# where = ["{parameter} >= {low:g}"]
"""


def setup_text(setup: Setup, data: TrainingData) -> str:
    """TOML text."""
    complexity = dict(setup.complexity)
    complexity.setdefault("default", default_terms(data.parameters, data.processes))
    lines = [
        _HEAD.format(
            parameters=", ".join(data.parameters),
            counts=", ".join(data.names[len(data.parameters) :]),
            interactions=setup.interactions,
            per_thread=str(setup.per_thread).lower(),
        ),
        *(f"{name} = {_list(terms)}\n" for name, terms in complexity.items()),
        _METRICS,
        *(_metric(metric) for metric in setup.metrics),
        "\n",
        _EXAMPLE.format(name="LSys", parameter=data.parameters[0], low=data.scale[:, 0].min()),
    ]
    return "".join(lines)


def _metric(metric: MetricSetup) -> str:
    low, high = ("inf" if b == float("inf") else f"{b!r}" for b in metric.bounds)
    return (
        f'\n[metrics.{metric.name}]\ntype = "{metric.type}"\nmodel = "{metric.model}"\n'
        f'terms = {_list(metric.terms)}\nselection = "{metric.selection}"\nbounds = [{low}, {high}]\n'
    )


def _list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click import BadParameter

from commanalyzer.cli.parameters.options import settings
from commanalyzer.foundation.errors import ConfigError, ProfileError
from commanalyzer.profiles.classification.classify import classify
from commanalyzer.profiles.extrapolation.data import (
    Constraints,
    acceptance,
    default_setup,
    read_setup,
    training_data,
)
from commanalyzer.profiles.extrapolation.fitting import proposer, read_terms
from commanalyzer.profiles.extrapolation.passes import setup_text, target_points
from commanalyzer.scaling.laws.law import Formula
from tests.made_profiles import grid_profile

KNOWN = ("LSys", "ILP0", "F0mem", "D0dreuse", "MPIsentBytes")


def test_runs_without_a_scale_are_not_extrapolated() -> None:
    profiles = [replace(grid_profile((p,), 64), scale={}) for p in (3, 4)]
    with pytest.raises(ProfileError, match="2 profiles that say their scale, found no scaling parameter"):
        training_data(profiles, classify(profiles, "clusters"))


def test_written_setups_say_the_defaults(tmp_path: Path) -> None:
    profiles = [grid_profile((p,), 64) for p in (3, 4)]
    data = training_data(profiles, classify(profiles, "pattern"))
    setup = default_setup(data.metrics)
    path = tmp_path / "setup.toml"
    path.write_text(setup_text(setup, data))
    read = read_setup(path, data.metrics)
    assert read.metrics == setup.metrics
    assert read.complexity["default"][0] == "n"


def test_types_follow_the_manual() -> None:
    types = {m.name: (m.type, m.bounds[0]) for m in default_setup(KNOWN).metrics}
    numbers = {"NThreads": ("numeric", 1.0), "LSys": ("numeric", 1.0), "MPIsentBytes": ("numeric", 0.0)}
    shares = {"ILP0": ("instrPercentage", 0.0), "F0mem": ("vinstrPercentage", 0.0)}
    assert types == {**numbers, **shares, "D0dreuse": ("memFunction", 0.0)}


@pytest.mark.parametrize(
    "text, word",
    [
        ("metrics = 3", "setup"),
        ("[metrics.LSys]\nmodle = 'linear'", "modle"),
        ("[metrics.LSys]\nmodel = 'cubic'", "cubic"),
        ("[metrics.XX]\n", "XX"),
        ("[metrics.F0mem]\nmodel = 'network'", "weighted or linear"),
        ("[metrics.LSys]\nmodel = 'levels'", "no function"),
        ("[metrics.LSys]\ntype = 'memFunction'", "numeric or instrPercentage"),
        ("[metrics.LSys.constraints]\nwhere = ['n = 3']", "n = 3"),
        ("[metrics.LSys.constraints]\ngrowing = ['n']", "growing"),
        ("interactions = 'some'", "some"),
        ("[complexity]\ndefault = 'n'", "expected array, found str at"),
        ("colour = 1", "colour"),
        ("= 3", "TOML"),
    ],
)
def test_wrong_setups_are_refused(text: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "setup.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=word):
        read_setup(path, KNOWN)


def test_complexities_that_are_no_terms_are_refused() -> None:
    with pytest.raises(ConfigError, match="found n"):
        read_terms(("n + m",), ("p",))
    with pytest.raises(ConfigError, match="expected a term"):
        read_terms(("sin(n)",), ("n",))


def test_every_term_is_proposed_also_per_thread() -> None:
    names = ("n", "p", "threads_A")
    mains = read_terms(("n", "p"), names)
    found = set(proposer(mains, (1, 2), "all")(((),)))
    texts = ("n", "p", "n*p", "n/p", "n/threads_A", "p/threads_A", "n*p/threads_A", "1/p", "1/threads_A")
    assert found == {read_terms((text,), names)[0] for text in texts}


@pytest.mark.parametrize(
    "coefficients, constraints, accepted",
    [
        ((5.0, 1.0, 0.0), Constraints(increasing=("n",)), True),
        ((5.0, 1.0, -1e-3), Constraints(increasing=("n",)), False),
        ((5.0, 1.0, -1e-3), Constraints(increasing=("n",), where=("n <= 300",)), True),
        ((5.0, 1.0, -1e-3), Constraints(increasing=("p",)), True),
        ((5.0, -1.0, 1e-3), Constraints(increasing=("n",), where=("n >= 600",)), True),
        ((5.0, -1.0, 0.0), Constraints(bounded_below=True), False),
        ((-5.0, 1.0, 0.0), Constraints(bounded_below=True), True),
        ((-5.0, 0.0, 0.0), Constraints(bounded_below=True), True),
    ],
)
def test_constraints_hold_where_they_are_valid(
    coefficients: tuple[float, ...], constraints: Constraints, accepted: bool
) -> None:
    """c0 + c1 n + c2 n^2, data for n = 10 ... 100."""
    terms = ((), *read_terms(("n", "n**2"), ("n", "p")))
    test = acceptance(constraints, ("n", "p"), np.array([10.0, 2]), np.array([100.0, 16]), lambda x: x)
    assert test is not None
    assert test(Formula("terms", terms, coefficients)) == accepted


def test_targets_are_all_combinations() -> None:
    found = target_points([settings("p=64, p=128,n=5")])
    assert found == [{"p": 64.0, "n": 5.0}, {"p": 128.0, "n": 5.0}]
    for text in ("p", "p=x", "=3"):
        with pytest.raises(BadParameter, match="NAME=NUMBER"):
            settings(text)
    with pytest.raises(ConfigError, match="p=64,n=512"):
        target_points([[("p", -1.0)]])

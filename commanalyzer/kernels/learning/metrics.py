"""Errors of predicted speed-ups: the three that the paper gives, and R²."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from commanalyzer.scaling.laws.terms import Floats


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of predictions.

    Attributes:
        mse: Mean of (predicted - measured)².
        msle: Mean of (ln(1 + predicted) - ln(1 + measured))².
        mape: Mean of |predicted - measured| / measured, percent.
        r2: 1 - squared error over the variance of what was measured.
        count: Predictions.
    """

    mse: float
    msle: float
    mape: float
    r2: float
    count: int


def errors_of(measured: Floats, predicted: Floats) -> Errors:
    """Errors of float64[N] ``predicted`` speed-ups; both are positive.

    A negative prediction (support vectors on plain speed-ups can give one) has the logarithmic error of 0.
    """
    apart = predicted - measured
    variance = float(((measured - measured.mean()) ** 2).mean())
    mse = float((apart**2).mean())
    return Errors(
        mse=mse,
        msle=float(((np.log1p(np.maximum(predicted, 0.0)) - np.log1p(measured)) ** 2).mean()),
        mape=float(100.0 * (np.abs(apart) / measured).mean()),
        r2=1.0 - mse / variance if variance else float("nan"),
        count=len(measured),
    )

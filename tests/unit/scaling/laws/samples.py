from fractions import Fraction

from commanalyzer.scaling.laws.law import Formula, Law
from commanalyzer.scaling.laws.terms import Factor, Form, Term


def factor(parameter: int, form: Form = "power", exponent: str = "1", log: int = 0) -> Factor:
    """A factor with its exponent as text."""
    return Factor(parameter, form, Fraction(exponent), log)


def law(
    metric: str, *terms: tuple[float, Term], parameters: tuple[str, ...] = ("p", "n"), error: float = 0.0
) -> Law:
    """A law of the given terms, fitted to p = 2 to 64 and n = 8 to 64 in name only."""
    coefficients, products = zip(*terms, strict=True)
    formula = Formula("lattice", products, coefficients, *(error,) * 3, degrees_of_freedom=20)
    ranges = {"p": (2.0, 64.0), "n": (8.0, 64.0)}
    lowest, highest = (tuple(ranges[name][end] for name in parameters) for end in (0, 1))
    return Law(metric, parameters, formula, (), lowest, highest, 30)


HALO = law("comm_bytes", (320.0, (factor(0, "rise", "1/2"), factor(1))))
WORK = law("work_flops", (70.0, (factor(0, exponent="2"),)), parameters=("n",))
MESSAGES = law("messages", (40.0, (factor(0, "pairs", "1/2"),)), parameters=("p",))

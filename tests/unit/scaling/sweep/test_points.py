from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.request import AnalysisRequest, CompilerOptions
from commanalyzer.scaling.sweep.points import Point, filled, grid, parse_axis, read_points


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=64,128", ("64", "128")),
        ("n=64..512x2", ("64", "128", "256", "512")),
        ("n=64..500x2", ("64", "128", "256")),
        ("n=1..9:4", ("1", "5", "9")),
        ("n=3..5", ("3", "4", "5")),
        ("n=8,1..2,8", ("8", "1", "2")),
        ("kind=banded,small-world", ("banded", "small-world")),
        ("x=1e-3,-2.5", ("1e-3", "-2.5")),
    ],
)
def test_values_of_a_parameter(text: str, values: tuple[str, ...]) -> None:
    axis = parse_axis(text)
    assert axis.values == values and axis.name == text.partition("=")[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("n", "'n'"),
        ("n=", "'n='"),
        ("2n=1", "'2n'"),
        ("n=1,,2", "found none"),
        ("n=9..3", "'9..3'"),
        ("n=1..9x1", "'1..9x1'"),
        ("n=0..9x2", "'0..9x2'"),
        ("n=1..9:0", "'1..9:0'"),
        ("n=1..99999999", "99999999"),
        ("nodes=1", "'nodes'"),
        ("p=4", "'p'"),
    ],
)
def test_other_texts_are_refused(text: str, found: str) -> None:
    with pytest.raises(ConfigError, match=found):
        parse_axis(text)


def test_a_grid_has_all_combinations() -> None:
    points = grid([parse_axis("n=1,2"), parse_axis("mode=a,b")])
    assert [point.label for point in points] == ["n=1 mode=a", "n=1 mode=b", "n=2 mode=a", "n=2 mode=b"]
    with pytest.raises(ConfigError, match="each parameter once"):
        grid([parse_axis("n=1"), parse_axis("n=2")])
    with pytest.raises(ConfigError, match="at most 10000 points, found 1000000"):
        grid([parse_axis("n=1..1000"), parse_axis("m=1..1000")])


def test_points_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("n, steps\n64, 10\n128, 5\n64, 10\n\n")
    assert [point.label for point in read_points(file)] == ["n=64 steps=10", "n=128 steps=5"]
    for text, found in (
        ("n\n", "found less"),
        ("n,m\n1\n", "found line 2"),
        ("n,n\n1,2\n", "found n, n"),
        ("comm_bytes\n1\n", "'comm_bytes'"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError, match=found):
            read_points(file)
    with pytest.raises(ConfigError, match="No such file"):
        read_points(tmp_path / "none.csv")


def test_templates_are_filled() -> None:
    point = Point((("n", "64"), ("mode", "swap")))
    assert point.fill("{n}x{n} {mode} {{n}}") == "64x64 swap {n}"
    for text in ("{m}", "{", "}", "{n:>5}", "{n!r}", "{}", "{n.real}"):
        with pytest.raises(ConfigError, match="expected parameters in braces"):
            point.fill(text)


def test_every_place_of_a_request_is_filled() -> None:
    base = AnalysisRequest(
        (Path("{mode}.c"),),
        ("{n}", "{n}{{}}"),
        compiler=CompilerOptions(flags=("-DN={n}",), link_flags=("-L{mode}",)),
        stdin=Path("in{n}.txt"),
        owner_map=Path("{n}.csv"),
    )
    points = grid([parse_axis("n=4,8"), parse_axis("mode=a")])
    first, second = filled(base, points)
    assert first.sources == (Path("a.c"),) and first.arguments == ("4", "4{}")
    assert (first.compiler.flags, first.compiler.link_flags) == (("-DN=4",), ("-La",))
    assert (first.stdin, first.owner_map) == (Path("in4.txt"), Path("4.csv"))
    assert second.arguments == ("8", "8{}") and second.program_output == "discard"


def test_a_parameter_that_changes_nothing_is_refused() -> None:
    base = AnalysisRequest((Path("a.c"),), ("{n}",))
    with pytest.raises(ConfigError, match=r"found \{m\} nowhere"):
        filled(base, grid([parse_axis("n=1"), parse_axis("m=2")]))

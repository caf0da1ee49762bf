import click
import pytest

from commanalyzer.cli.parameters import options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", (4,)),
        ("2,4,8-10", (2, 4, 8, 9, 10)),
        ("16, 4, 4", (4, 16)),
        ("4-16:4", (4, 8, 12, 16)),
        ("2..64x2", (2, 4, 8, 16, 32, 64)),
        ("3-30x3", (3, 9, 27)),
        ("1..3", (1, 2, 3)),
    ],
)
def test_nodes(text: str, expected: tuple[int, ...]) -> None:
    assert options.nodes(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "0", "a", "4,", "8-4", "-2", "1-5:0", "2..8x1", "1-5000", "2000000", "1.5", "4:2", "1-2-3", "٤x"],
)
def test_nodes_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        options.nodes(text)


def test_quantities() -> None:
    assert options.bandwidth("1Gbit/s") == 1.25e8
    assert options.size("2kB") == 2000
    assert options.seconds("2min") == 120
    assert options.fraction("57%") == 0.57
    assert options.throughput("1GFlop/s") == 1e9
    with pytest.raises(click.BadParameter, match="Gbit for bits"):
        options.bandwidth("1Gb/s")


def test_flags() -> None:
    assert options.flags('-DN=3 -I"a b"') == ("-DN=3", "-Ia b")
    with pytest.raises(click.BadParameter):
        options.flags('"open')


def test_setting() -> None:
    assert options.setting("n=256") == ("n", 256.0)
    for text in ("n", "=3", "n=x", "a b=3"):
        with pytest.raises(click.BadParameter):
            options.setting(text)


def test_coarse_graphs_are_chosen_by_word_or_number() -> None:
    assert [options.coarsen(text) for text in ("auto", "never", "4096")] == ["auto", "never", 4096]
    for wrong in ("0", "-1", "always", "1.5"):
        with pytest.raises(click.BadParameter, match="expected auto, never or a number"):
            options.coarsen(wrong)

import pytest

from commanalyzer.kernels.tasks.mappers import MapperError, RangeMapper, parse_mapper

TEXTS = ("one-to-one", "neighborhood(1,0)", "slice(1)", "fixed(2:3,0:8)", "all", "irregular")


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_read_back(text: str) -> None:
    assert str(parse_mapper(text)) == text


@pytest.mark.parametrize("text", [t for t in TEXTS if not t.startswith(("fixed", "irregular"))])
def test_celeritys_own_spelling_is_read(text: str) -> None:
    mapper = parse_mapper(text)
    assert parse_mapper(mapper.celerity) == mapper
    assert parse_mapper("neighborhood<2>(1, 1)") == RangeMapper("neighborhood", radius=(1, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("diagonal", "unknown range mapper 'diagonal'"),
        ("", "unknown range mapper ''"),
        ("slice", "wrong arguments"),
        ("slice(1,2)", "wrong arguments"),
        ("slice(x)", "wrong arguments"),
        ("all(1)", "wrong arguments"),
        ("neighborhood()", "lacks a radius"),
        ("neighborhood(-1)", "negative"),
        ("neighborhood(1,1,1,1)", "more than 3 dimensions"),
        ("slice(3)", "more than 3 dimensions"),
        ("fixed(3:3)", "0 <= first < end"),
        ("fixed(3)", "wrong arguments"),
    ],
)
def test_bad_text_is_refused_with_the_vocabulary(text: str, message: str) -> None:
    with pytest.raises(MapperError, match=message.replace("(", r"\(")):
        parse_mapper(text)


def test_arguments_of_other_kinds_are_refused() -> None:
    with pytest.raises(MapperError, match="all has a radius"):
        RangeMapper("all", radius=(1,))


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("one-to-one", ((2, 4), (0, 8))),
        ("neighborhood(1,1)", ((1, 5), (0, 8))),
        ("slice(0)", ((0, 6), (0, 8))),
        ("slice(1)", ((2, 4), (0, 8))),
        ("fixed(5:9,1:2)", ((5, 6), (1, 2))),
        ("all", ((0, 6), (0, 8))),
        ("irregular", ((0, 6), (0, 8))),
    ],
)
def test_regions_of_rows(text: str, region: tuple[tuple[int, int], ...]) -> None:
    assert parse_mapper(text).region(((2, 4), (0, 8)), (6, 8)) == region


def test_a_line_of_items_takes_rows_or_columns_of_a_matrix() -> None:
    assert parse_mapper("slice(1)").region(((2, 4),), (6, 8)) == ((2, 4), (0, 8))
    assert parse_mapper("slice(0)").region(((2, 4),), (6, 8)) == ((0, 6), (2, 4))
    assert parse_mapper("one-to-one").region(((2, 4),), (6, 1)) == ((2, 4), (0, 1))

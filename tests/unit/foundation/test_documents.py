"""What is wrong with a text file is one kind of error."""

import csv
import math
from pathlib import Path

import pytest

from commanalyzer.foundation import documents


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a": ' * 100_000, "9" * 5000, '{"a": [18446744073709551616]}', "{", "nul", '{"a": -1e'],
)
def test_json_that_cannot_be_used_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        documents.parse_json(text)


@pytest.mark.parametrize("text", ["Infinity", "NaN", "[1e999]", '{"a": {"b": -Infinity}}'])
def test_only_finite_numbers_where_they_are_asked_for(text: str) -> None:
    assert documents.parse_json(text) is not None
    with pytest.raises(ValueError, match="number"):
        documents.parse_json(text, is_finite=True)


@pytest.mark.parametrize(
    "value", ["[" * 5000 + "]" * 5000, "9" * 5000, "9" * 30, ""], ids=["deep", "long", "large", "none"]
)
def test_toml_that_cannot_be_used_is_a_value_error(value: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        documents.parse_toml(f"a = {value}")


def test_what_is_right_is_read(tmp_path: Path) -> None:
    assert documents.parse_json('{"a": [1, -2.5, "x", null, 9223372036854775807]}')["a"][-1] == 2**63 - 1
    assert documents.parse_toml("a = [1]\n[b]\nc = 1.5") == {"a": [1], "b": {"c": 1.5}}
    (tmp_path / "a.csv").write_text('a,"b,c"\n1,2\n')
    assert documents.read_csv(tmp_path / "a.csv") == [["a", "b,c"], ["1", "2"]]
    assert documents.whole_numbers(["1", "-3"]).tolist() == [1, -3]


def test_long_fields_and_long_numbers_are_value_errors(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x" * 140_000)
    with pytest.raises(ValueError, match="field"):
        documents.read_csv(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="64 bits"):
        documents.whole_numbers(["9" * 30])


def test_numbers_are_not_texts() -> None:
    assert math.isclose(documents.number(2), 2.0)
    for other in ("inf", True, None):
        with pytest.raises(TypeError):
            documents.number(other)


def test_a_spreadsheet_runs_no_cell(tmp_path: Path) -> None:
    """OWASP: what begins with these is text behind an apostrophe; numbers stay numbers."""
    texts = ["=1+2", "+A1", "-A1", "@SUM(1)", "\tx", "a\nb", "'=x", "plain", "a=b"]
    numbers = [-1, 1.5, "-1.5", "+2", "-inf"]
    (tmp_path / "a.csv").write_text(documents.csv_text([texts, numbers]), newline="")
    with (tmp_path / "a.csv").open(newline="") as stream:
        written = list(csv.reader(stream))
    assert written[0] == [*(f"'{text}" for text in texts[:5]), "a\nb", "'=x", "plain", "a=b"]
    assert written[1] == [str(n) for n in numbers]
    assert documents.read_csv(tmp_path / "a.csv")[0][:6] == texts[:6]

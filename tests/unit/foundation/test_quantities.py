import pytest
from hypothesis import given
from hypothesis import strategies as st

from commanalyzer.foundation import quantities as q
from commanalyzer.foundation.errors import MachineModelError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.5GB/s", 12.5e9),
        ("100Gbit/s", 12.5e9),
        ("8 bit/s", 1.0),
        ("1MiB/s", 1048576.0),
        ("3.2e9B/s", 3.2e9),
        ("125 MB/s", 1.25e8),
        ("1kB/s", 1e3),
        ("1 TB/s", 1e12),
    ],
)
def test_bandwidth(text: str, expected: float) -> None:
    assert q.parse_bandwidth(text) == expected


@pytest.mark.parametrize("text", ["100Gb/s", "100Gbps", "10gb/s", "1Mb/s", "5b/s", "1gB/s", "100Gib/s"])
def test_bandwidth_refuses_what_could_be_bits_or_bytes(text: str) -> None:
    with pytest.raises(MachineModelError) as caught:
        q.parse_bandwidth(text)
    assert "bit for bits" in caught.value.hint


@pytest.mark.parametrize("text", ["", "fast", "-1GB/s", "1GB", "1e400", "1 GB/h", "nan", "1 parsec/s", "1e9"])
def test_bandwidth_refuses(text: str) -> None:
    with pytest.raises(MachineModelError):
        q.parse_bandwidth(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8GB", 8e9),
        ("512MiB", 512 * 2**20),
        ("64kB", 64e3),
        ("100", 100.0),
        ("16 bytes", 16.0),
        ("1Gbit", 1.25e8),
    ],
)
def test_bytes(text: str, expected: float) -> None:
    assert q.parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3.2GFlop/s", 3.2e9), ("3.2 GFLOPS", 3.2e9), ("1e9", 1e9), ("2TFlops/s", 2e12), ("5 Mflop/s", 5e6)],
)
def test_throughput(text: str, expected: float) -> None:
    assert q.parse_throughput(text) == expected


@pytest.mark.parametrize("text", ["3GFlop", "3 GB/s", "GFlop/s"])
def test_throughput_refuses(text: str) -> None:
    with pytest.raises(MachineModelError):
        q.parse_throughput(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("50us", 5e-5), ("50µs", 5e-5), ("2min", 120.0), ("1h", 3600.0), ("60", 60.0)]
)
def test_seconds(text: str, expected: float) -> None:
    assert q.parse_seconds(text) == pytest.approx(expected, rel=1e-15)


def test_fraction() -> None:
    assert q.parse_fraction("57%") == 0.57
    assert q.parse_fraction("0.57") == 0.57
    with pytest.raises(MachineModelError):
        q.parse_fraction("0.57 GB")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1 kB"),
        (1000, "1 kB"),
        (999_600, "1 MB"),
        (1_234_567, "1.23 MB"),
        (12.5e9, "12.5 GB"),
        (3e18, "3 EB"),
    ],
)
def test_format_bytes(value: float, expected: str) -> None:
    assert q.format_bytes(value) == expected


def test_formats() -> None:
    assert q.format_bandwidth(12.5e9) == "12.5 GB/s"
    assert q.format_throughput(3.2e9) == "3.2 GFlop/s"
    assert q.format_work(0, "flop") == "0 Flop"
    assert q.format_throughput(3.2e9, "op") == "3.2 GOp/s"
    assert q.parse_throughput("3.2GOp/s") == q.parse_throughput("3.2 GFlop/s") == 3.2e9
    assert q.format_count(9999) == "9,999"
    assert q.format_count(1_234_567) == "1.23 M"
    assert q.format_percent(0.8734) == "87.3 %"
    times = [q.format_seconds(v) for v in (0, 5e-5, 0.0123, 45.12, 200)]
    assert times == ["0 s", "50 us", "12.3 ms", "45.1 s", "3 min 20 s"]


@given(st.floats(min_value=1e-3, max_value=1e20))
def test_formatted_bandwidth_parses_back(value: float) -> None:
    # Three significant digits: half a unit of the third digit is at most 0.5 %.
    assert q.parse_bandwidth(q.format_bandwidth(value)) == pytest.approx(value, rel=5.01e-3)

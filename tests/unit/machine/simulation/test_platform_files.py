from pathlib import Path

import pytest

from commanalyzer.foundation.errors import ConfigError
from commanalyzer.machine.simulation.platforms import read_platform

_MIXED = """<?xml version='1.0'?>
<platform version="4.1"><zone id="all" routing="Full">
<host id="front" speed="1Gf"/>
<cluster id="c" prefix="n" suffix=".x" radical="1-3,7" speed="1Gf" bw="1GBps" lat="1us"/>
</zone></platform>
"""


def test_hosts_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(_MIXED)
    assert read_platform(path).hosts == ("front", "n1.x", "n2.x", "n3.x", "n7.x")
    names = tmp_path / "hosts"
    names.write_text("n7.x\n\nn1.x\n")
    assert read_platform(path, names).hosts == ("n7.x", "n1.x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<platform>", "expected an XML file"),
        ("<cluster/>", "expected the element platform, found cluster"),
        ("<platform/>", "expected hosts, found none"),
        ("<platform><cluster radical='a-b'/></platform>", "expected a radical such as 0-15"),
        ("<platform><cluster radical='0-999999999'/></platform>", "at most 65536 hosts"),
    ],
)
def test_unusable_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.xml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_platform(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readable file"):
        read_platform(tmp_path / "none.xml")

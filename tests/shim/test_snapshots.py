"""Pages of snapshots that nobody wrote to are not compared; those that somebody wrote to are."""

from __future__ import annotations

import pytest

from tests.shim.conftest import Driver

_SAME, _KNOWN = 2, 1


def test_snapshots_of_watched_pages_see_every_change(driver: Driver) -> None:
    numbers, _ = driver.run("watched")
    assert numbers == {
        "often": _SAME + _KNOWN,
        "often_too": _SAME + _KNOWN,
        "written": 0,
        "written_too": 0,
        "back": _SAME + _KNOWN,
        "rewritten": _SAME + _KNOWN,
        "read": 4,
        "by_the_kernel": 0,
        "lost": 0,
        "last": _SAME + _KNOWN,
        "unchanged_in_child": _SAME + _KNOWN,
        "in_child": 0,
        "in_parent": _SAME + _KNOWN,
    }


def test_pages_that_were_written_to_are_known(driver: Driver) -> None:
    numbers, _ = driver.run("written")
    if not numbers["possible"]:
        pytest.skip("the kernel does not say which pages were written to")
    written = sum(1 << page for page in range(1, 20, 3))
    assert (numbers["none"], numbers["some"]) == (0, written)
    assert (numbers["given_back"], numbers["zeros"], numbers["others"]) == (1, 1, 1)
    # what is no longer there, or other memory now, can be watched like the rest
    assert (numbers["again"], numbers["rest"] & ~(1 << 30)) == (1, 0)

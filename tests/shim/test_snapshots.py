"""Snapshots of what previews read: whoever changes that memory, it is seen."""

from tests.shim.conftest import Driver

_SAME, _KNOWN = 2, 1


def test_snapshots_see_every_change(driver: Driver) -> None:
    numbers, _ = driver.run("large_snapshots")
    assert numbers == {
        "often": _SAME + _KNOWN,
        "often_too": _SAME + _KNOWN,
        "written": 0,
        "written_too": 0,
        "back": _SAME + _KNOWN,
        "rewritten": _SAME + _KNOWN,
        "read": 4,
        "by_the_kernel": 0,
        "other": 0,
        "last": _SAME + _KNOWN,
        "unchanged_in_child": _SAME + _KNOWN,
        "in_child": 0,
        "in_parent": _SAME + _KNOWN,
    }

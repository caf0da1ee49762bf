"""Snapshots of what previews read: whoever changes that memory, it is seen."""

from tests.shim.conftest import Driver

_SAME, _KNOWN = 2, 1


def test_snapshots_see_every_change(driver: Driver) -> None:
    numbers, _ = driver.run("large_snapshots")
    kept = ("often", "often_too", "back", "rewritten", "last", "unchanged_in_child", "in_parent")
    changed = ("written", "written_too", "by_the_kernel", "other", "in_child")
    assert numbers == {**dict.fromkeys(kept, _SAME + _KNOWN), **dict.fromkeys(changed, 0), "read": 4}

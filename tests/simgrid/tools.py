"""Marks tests that need SimGrid."""

import shutil

import pytest

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid is not installed")
needs_smpicc = pytest.mark.skipif(
    shutil.which("smpirun") is None or shutil.which("smpicc") is None or shutil.which("cc") is None,
    reason="SimGrid or a C compiler is not installed",
)

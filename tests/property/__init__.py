"""Property tests on generated programs."""

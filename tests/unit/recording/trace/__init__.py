"""Unit tests of the trace reader."""

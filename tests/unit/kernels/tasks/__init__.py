"""Tests of kernels, their graph and range mappers."""

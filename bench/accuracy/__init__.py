"""Predictions beside the counted bytes of the MPI programs of the workloads: ``python -m bench.accuracy``."""

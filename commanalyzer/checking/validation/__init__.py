"""Validation: predictions against the counted bytes of the workloads' MPI counterparts."""

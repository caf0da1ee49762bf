"""Commands that count and compare with MPI programs."""

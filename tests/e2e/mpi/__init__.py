"""Small MPI programs whose traffic is known."""

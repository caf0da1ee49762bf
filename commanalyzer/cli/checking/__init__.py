"""Commands that compare: with MPI programs that exist, and results with each other."""

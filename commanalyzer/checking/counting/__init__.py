"""Counts the bytes of MPI programs: interposer, launch, merge of what the ranks wrote."""

"""What users hand in beside executables: C and C++ sources, Fortran, Python functions."""

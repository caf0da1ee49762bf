"""What users hand in: C and C++ sources, Fortran, executables of the wrappers, Python functions."""

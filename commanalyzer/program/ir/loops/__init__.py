"""Facts about loops and what they carry: induction polynomials, guards, selections, extrema."""

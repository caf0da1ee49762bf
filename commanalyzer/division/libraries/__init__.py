"""METIS and Mt-KaHyPar: what they are given, how they are called where they can be ended."""

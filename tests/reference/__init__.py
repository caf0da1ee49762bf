"""Independent plain-Python models of what the package computes, used as oracles."""

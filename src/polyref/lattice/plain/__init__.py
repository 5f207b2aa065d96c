"""The lattice in plain Python: what small inputs use, and what the compiled twin is tested against."""

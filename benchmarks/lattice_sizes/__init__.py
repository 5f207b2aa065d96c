"""How many sentences a lattice holds and how good its best are, against the length of the references.

In:   three data sets and an encoder: `python -m benchmarks.lattice_sizes --data FOLDER [--encoder NAME] [--quick]`.
Out:  the paper's Figure 6 on open data: docs/lattice-sizes.md and docs/pictures/lattice-sizes.svg.
Not:  how long it takes (benchmarks/search.py).
"""

"""The lattice in numba kernels: file by file the twin of plain/, with the same results. Importing it loads numba."""

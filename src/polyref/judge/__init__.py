"""Which sentences of a lattice read like references."""

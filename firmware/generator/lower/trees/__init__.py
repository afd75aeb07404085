"""Lowering of tree ensembles, an operator of Arenite."""

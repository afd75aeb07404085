"""Tests of the kernels of tree ensembles."""

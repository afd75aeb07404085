"""Tests of the kernels, the board support and the generator of firmware."""

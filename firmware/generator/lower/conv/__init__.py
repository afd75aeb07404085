"""Lowerings of CONV_2D and TRANSPOSE_CONV."""

"""Tests of lowerings, which turn operators into calls of kernels."""

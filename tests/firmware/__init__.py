"""Tests of kernels, board support and generator."""

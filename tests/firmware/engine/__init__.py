"""Tests that compare kernels with LiteRT bit for bit."""

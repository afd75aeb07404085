"""Kernels against LiteRT, bit for bit."""

"""Fuzzers: they compare the results of random models with LiteRT bit for bit, and read corrupted model files."""

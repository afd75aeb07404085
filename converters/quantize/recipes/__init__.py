"""Quantization recipes: reading, writing, and the shipped TOML files."""

"""Quantization recipes: read them, write them, and the TOML files that come with Arenite."""

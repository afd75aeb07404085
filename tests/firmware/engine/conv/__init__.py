"""Convolutions against LiteRT, bit for bit."""

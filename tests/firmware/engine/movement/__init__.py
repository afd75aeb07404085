"""Operators that move elements against LiteRT, bit for bit."""

"""Operators with state against LiteRT, bit for bit."""

"""Elementwise operators against LiteRT, bit for bit."""

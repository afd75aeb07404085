"""Depthwise convolutions against LiteRT, bit for bit."""

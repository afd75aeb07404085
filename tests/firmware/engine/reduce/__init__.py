"""Reductions and pools against LiteRT, bit for bit."""

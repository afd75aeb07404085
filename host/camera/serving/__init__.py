"""Serve frames: the loop, one model on one runtime, motion gate, cache, real-time settings."""

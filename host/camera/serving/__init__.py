"""Serve frames: the loop, the server of one model, the motion gate, the cache of answers, and real-time settings."""

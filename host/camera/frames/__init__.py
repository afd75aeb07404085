"""Frames of cameras: their format, their preprocessing for a model, regions of frames, and coordinates."""

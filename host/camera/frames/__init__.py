"""Frames: formats, preprocessing, regions, geometry."""

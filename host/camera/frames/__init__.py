"""Frames and what is done to their pixels: formats, preprocessing, regions, geometry."""

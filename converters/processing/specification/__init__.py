"""Preprocessing as data: sources, steps, their checks, and the map to the values of the model's input."""

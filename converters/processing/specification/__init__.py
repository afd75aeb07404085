"""Preprocessing as data: sources, steps, their checks, and the values that a model's input stores."""

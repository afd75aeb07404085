"""Passes: rewrites of the graph that change no output, one per module. A pass takes a model and returns a model and a
report of the changes."""

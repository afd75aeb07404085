"""Runs a bench for each combination of models, boards and options in one file."""

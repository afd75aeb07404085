"""Measurements of Arenite against other runtimes and against its own predictions."""

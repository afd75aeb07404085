"""Tune the thresholds of a decision on labelled recordings."""

"""Checks of samples against scales: coverage, clipping, saturation, field data."""

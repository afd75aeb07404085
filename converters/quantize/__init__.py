"""Quantize float models: calibration data, recipes, sensitivity, and a search under a budget."""

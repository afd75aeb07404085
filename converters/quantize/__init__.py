"""Quantization of float models: calibration data, recipes, sensitivity, search under a budget."""

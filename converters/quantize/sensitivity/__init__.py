"""Measure the error of each layer, and the loss if only one layer is quantized."""

"""Check whether the values of samples fit the scales of a quantized model: coverage, clipping and saturation, with
calibration data or field data."""

"""Ranges of tensors from calibration samples: histograms, observations, calibrators."""

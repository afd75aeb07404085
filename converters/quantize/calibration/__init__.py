"""Choose the ranges of tensors from calibration samples: histograms, observations, calibrators."""

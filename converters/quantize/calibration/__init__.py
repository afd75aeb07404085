"""Choose the ranges of tensors from calibration samples: collect histograms of their values, and choose ranges by
calibrators."""

"""A float model in, a quantised one out: calibration data, recipes, sensitivity, search under a budget."""

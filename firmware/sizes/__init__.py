"""Predict flash, RAM, stack, time and memory accesses of a firmware without a compiler."""

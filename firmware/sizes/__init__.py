"""Predictions of flash, RAM, stack, time and memory accesses without a compiler."""

"""Fit and check the estimates of time, memory accesses, energy and duty cycle."""

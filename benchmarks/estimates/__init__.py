"""Fits and checks of the estimates of time, memory accesses, energy and duty cycle."""

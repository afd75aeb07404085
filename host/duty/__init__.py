"""Predict queueing, energy and battery life of a device that sleeps between events. See docs/duty-cycle.md."""

"""The duty cycle of a device that sleeps between events: queueing, energy, battery life. See docs/duty-cycle.md."""

"""Programs that fit and check Arenite's estimates of time, memory accesses, energy and duty cycle."""

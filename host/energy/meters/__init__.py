"""Energy of a microcontroller on the desk: one driver per instrument, and windows of inferences in what it gave."""

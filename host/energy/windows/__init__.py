"""Finds the inferences in a recording of a meter, and the energy of each."""

"""Find the inferences in a recording of a meter, and compute the energy of each."""

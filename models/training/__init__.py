"""Training of the own architectures, in the environment of a framework."""

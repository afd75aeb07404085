"""Train the built-in architectures in the environment of a framework."""

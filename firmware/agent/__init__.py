"""C sources of the agent of a fleet: what a device counts of its inferences, and the requests for it."""

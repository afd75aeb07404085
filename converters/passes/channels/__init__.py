"""Which channels of a graph's tensors can go, the graph without them, and the proof that nothing changed."""

"""Remove channels from a graph: select them, rewrite the graph without them, and prove that no output changed."""

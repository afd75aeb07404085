"""Remove channels: choose them, rewrite the graph without them, and prove that no output changed."""

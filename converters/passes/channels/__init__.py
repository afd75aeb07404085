"""Removal of channels: the choice of channels, the graph without them, and the proof that no output changed."""

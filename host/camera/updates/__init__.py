"""Replace the model of a running loop by a newer one from a signed repository."""

"""Pages that take newer versions of their model from a signed repository."""

"""Base classes of lowerings and variants, row functions, and packed weights."""

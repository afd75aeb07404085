"""Running models on samples, and metrics of their outputs."""

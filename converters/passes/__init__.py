"""Graph rewrites, one per module. Each function takes a model and returns a model and one sentence per change."""

"""Graph rewrites: one per file, each a function from a model to a model and one sentence per change."""

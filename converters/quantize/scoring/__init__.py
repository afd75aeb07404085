"""Run models on samples, and compute metrics of their outputs."""

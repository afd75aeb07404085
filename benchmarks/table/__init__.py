"""Measure all models on all emulated boards: ``python -m benchmarks.table``."""

"""A benchmark that measures all models on all emulated boards: ``python -m benchmarks.table``."""

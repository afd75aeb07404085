"""A benchmark that measures conversions of models from several frameworks: ``python -m benchmarks.conversions``."""

"""Measure conversions of models from several frameworks: ``python -m benchmarks.conversions``."""

"""Conversions of models from several frameworks, with their accuracy: ``python -m benchmarks.conversions``."""

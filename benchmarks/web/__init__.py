"""Benchmarks of models in web pages."""

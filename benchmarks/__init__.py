"""Benchmarks that compare Arenite with other runtimes and with its own predictions."""

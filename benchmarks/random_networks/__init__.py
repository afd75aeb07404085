"""A benchmark that converts networks with random architectures: ``python -m benchmarks.random_networks``."""

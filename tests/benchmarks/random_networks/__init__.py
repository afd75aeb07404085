"""Tests of the benchmark of random networks."""

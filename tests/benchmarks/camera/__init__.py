"""Tests of the camera benchmarks."""

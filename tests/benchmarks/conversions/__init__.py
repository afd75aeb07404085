"""Tests of the conversion benchmarks."""

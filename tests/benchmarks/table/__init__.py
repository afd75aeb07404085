"""Tests of the benchmark table."""

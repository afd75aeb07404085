"""Tests of lowerings."""

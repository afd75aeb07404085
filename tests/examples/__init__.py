"""Tests of the example notebooks."""

"""Tests of the Python interface."""

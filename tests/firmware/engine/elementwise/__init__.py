"""Tests that compare elementwise operators with LiteRT bit for bit."""

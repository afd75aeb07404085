"""Tests that compare convolutions with LiteRT bit for bit."""

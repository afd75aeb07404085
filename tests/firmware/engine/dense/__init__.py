"""Tests that compare matrix products with LiteRT bit for bit."""

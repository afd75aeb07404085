"""Tests that compare operators with state with LiteRT bit for bit."""

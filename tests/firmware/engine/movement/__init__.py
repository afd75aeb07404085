"""Tests that compare operators that move elements with LiteRT bit for bit."""

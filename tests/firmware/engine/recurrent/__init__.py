"""Tests that compare operators that keep state with LiteRT bit for bit."""

"""Tests that compare depthwise convolutions with LiteRT bit for bit."""

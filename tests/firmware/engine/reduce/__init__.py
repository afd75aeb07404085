"""Tests that compare reductions and pools with LiteRT bit for bit."""

"""Tests that compare predicted sizes with compiled firmware."""

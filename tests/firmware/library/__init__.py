"""Tests of generated libraries."""

"""Tests of requantization."""

"""Tests of the drivers of cameras."""

"""Tests of the live view and of recordings."""

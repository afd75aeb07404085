"""Tests of applications with a camera."""

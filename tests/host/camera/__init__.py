"""Tests of host/camera."""

"""Tests of host/camera/sources."""

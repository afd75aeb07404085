"""Tests of host/camera/frames."""

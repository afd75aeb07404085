"""Tests of host/camera/several."""

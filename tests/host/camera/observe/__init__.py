"""Tests of host/camera/observe."""

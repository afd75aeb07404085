"""Tests of host/camera/dashboard."""

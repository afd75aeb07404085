"""Tests of host/camera/answers."""

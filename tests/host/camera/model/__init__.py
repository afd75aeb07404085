"""Tests of host/camera/model."""

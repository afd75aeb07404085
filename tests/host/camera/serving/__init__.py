"""Tests of host/camera/serving."""

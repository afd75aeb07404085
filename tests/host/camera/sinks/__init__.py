"""Tests of host/camera/sinks."""

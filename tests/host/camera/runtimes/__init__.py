"""Tests of host/camera/runtimes."""

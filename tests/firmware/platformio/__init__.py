"""Tests of projects for PlatformIO."""
